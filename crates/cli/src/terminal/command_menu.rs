//! The list below the prompt: of commands, which opens with the `/` at the start of a line, and of
//! files, which opens with the `#` at the start of a word. It narrows while the name is typed.
//! Until the user chooses a row, Enter submits the line as it is typed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anstyle::{Effects, Style};
use reedline::menu_functions::replace_in_buffer;
use reedline::{Completer, Editor, Menu, MenuEvent, MenuSettings, Painter, Suggestion};

use super::editing::LineState;
use crate::show::{DIM, pad, truncate, width};
use crate::text;

/// Maximum number of rows of the list.
const ROWS: usize = 10;

const CHOSEN: Style = Style::new().effects(Effects::BOLD);

/// The list of commands or files.
pub(super) struct CommandMenu {
    settings: MenuSettings,
    is_active: bool,
    event: Option<MenuEvent>,
    /// The commands that start with what is typed.
    found: Vec<Suggestion>,
    /// The row that the user chose.
    chosen: Option<usize>,
    /// What the keys need to know.
    state: Arc<LineState>,
    columns: usize,
}

impl CommandMenu {
    pub(super) fn new(name: &str, marker: &str, state: Arc<LineState>) -> Self {
        Self {
            settings: MenuSettings::default()
                .with_name(name)
                .with_marker(marker)
                // The list closes with the first space.
                .with_word_chars("/._-+~#"),
            is_active: false,
            event: None,
            found: Vec::new(),
            chosen: None,
            state,
            columns: 80,
        }
    }

    fn choose(&mut self, row: Option<usize>) {
        self.chosen = row;
        self.state.has_choice.store(row.is_some(), Ordering::Relaxed);
    }

    /// Chooses the row that is this far from the chosen one. Before the first and after the last
    /// row, none is chosen.
    fn step(&mut self, forward: bool) {
        let last = self.found.len().checked_sub(1);
        let row = match (self.chosen, forward) {
            (None, true) => last.map(|_| 0),
            (None, false) => last,
            (Some(row), true) => Some(row + 1).filter(|row| Some(*row) <= last),
            (Some(row), false) => row.checked_sub(1),
        };
        self.choose(row);
    }

    /// Returns the first visible row, and the rows: the chosen one is among them.
    fn visible(&self, room: usize) -> (usize, &[Suggestion]) {
        let shown = room.min(ROWS).min(self.found.len());
        let first = self.chosen.unwrap_or(0).saturating_sub(shown.saturating_sub(1));
        (first, self.found.get(first..first + shown).unwrap_or_default())
    }

    fn row(&self, at: usize, found: &Suggestion, names: usize, colored: bool) -> String {
        let is_chosen = self.chosen == Some(at);
        let mark = if is_chosen { "› " } else { "  " };
        let name = pad(&found.value, names);
        let description = found.description.as_deref().unwrap_or_default();
        let about = truncate(description, self.columns.saturating_sub(names + 5));
        match colored {
            false => format!("{mark}{name}  {about}"),
            true if is_chosen => format!("{CHOSEN}{mark}{name}{CHOSEN:#}  {about}"),
            true => format!("{mark}{name}  {DIM}{about}{DIM:#}"),
        }
    }
}

impl Menu for CommandMenu {
    fn settings(&self) -> &MenuSettings {
        &self.settings
    }

    fn is_active(&self) -> bool {
        self.is_active
    }

    fn set_active(&mut self, active: bool) {
        self.is_active = active;
    }

    fn clear_input(&mut self) {
        self.found.clear();
        self.choose(None);
    }

    fn menu_event(&mut self, event: MenuEvent) {
        self.handle_menu_event(&event);
        match event {
            MenuEvent::NextElement | MenuEvent::MoveDown => self.step(true),
            MenuEvent::PreviousElement | MenuEvent::MoveUp => self.step(false),
            MenuEvent::Activate(_) | MenuEvent::Edit(_) => self.event = Some(event),
            _ => {}
        }
    }

    /// The list stays open with one command: the user may want another one.
    fn can_quick_complete(&self) -> bool {
        false
    }

    /// Completes the name if there is only one.
    fn can_partially_complete(
        &mut self,
        _: bool,
        editor: &mut Editor,
        completer: &mut dyn Completer,
    ) -> bool {
        if matches!(self.event, Some(MenuEvent::Activate(_))) {
            return false;
        }
        self.update_values(editor, completer);
        let [only] = self.found.as_slice() else { return false };
        replace_in_buffer(Some(only.clone()), editor, None);
        self.menu_event(MenuEvent::Deactivate);
        true
    }

    fn update_values(&mut self, editor: &mut Editor, completer: &mut dyn Completer) {
        let line = editor.get_buffer().to_owned();
        // Other words and the arguments of a command have the completion menu.
        let is_command = line.starts_with('/') && !line.contains(char::is_whitespace);
        let word = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_file = word.starts_with('#');
        if !is_command && !is_file {
            self.menu_event(MenuEvent::Deactivate);
            return;
        }
        self.state.is_file.store(is_file, Ordering::Relaxed);
        let found = completer.complete(&line, line.len());
        self.found = found.suggestions().to_vec();
        self.choose(None);
    }

    fn reset_position(&mut self) {
        self.choose(None);
    }

    fn update_working_details(
        &mut self,
        editor: &mut Editor,
        completer: &mut dyn Completer,
        painter: &Painter,
    ) {
        self.columns = painter.screen_width().into();
        if self.event.take().is_some() {
            self.update_values(editor, completer);
        }
    }

    fn replace_in_buffer(&self, editor: &mut Editor) {
        let chosen = self.chosen.and_then(|row| self.found.get(row)).cloned();
        replace_in_buffer(chosen, editor, None);
    }

    fn menu_required_lines(&self, _: u16) -> u16 {
        self.min_rows()
    }

    fn menu_string(&self, available_lines: u16, use_ansi_coloring: bool) -> String {
        let more = self.found.len().saturating_sub(ROWS);
        let room = usize::from(available_lines).saturating_sub(usize::from(more > 0));
        let names = self.found.iter().map(|found| width(&found.value)).max().unwrap_or(0);
        let (first, visible) = self.visible(room);
        let rows = visible.iter().enumerate();
        let mut rows: Vec<String> =
            rows.map(|(at, found)| self.row(first + at, found, names, use_ansi_coloring)).collect();
        let hidden = self.found.len() - visible.len();
        if more > 0 && hidden > 0 {
            rows.push(format!("  {}", text!("menu-more", count = hidden)));
        }
        rows.join("\r\n")
    }

    fn min_rows(&self) -> u16 {
        let more = usize::from(self.found.len() > ROWS);
        u16::try_from(self.found.len().min(ROWS) + more).unwrap_or(u16::MAX)
    }

    /// Returns the commands once the user has chosen one: only then does Enter take it.
    fn get_values(&self) -> &[Suggestion] {
        if self.chosen.is_some() { &self.found } else { &[] }
    }

    /// Without a matching command the list is not drawn.
    fn is_awaiting_first_answer(&self) -> bool {
        self.found.is_empty()
    }
}
