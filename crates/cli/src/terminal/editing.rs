//! One line editor for both places where a line is written: the bindings and the buffer of
//! reedline. At the prompt reedline reads the keys itself; while the agent works, `typing` does,
//! and this file applies them.

use reedline::{
    EditCommand, KeyCode, KeyModifiers, Keybindings, Reedline, ReedlineEvent,
    default_emacs_keybindings,
};

/// The name of the menu with completions.
pub(super) const MENU: &str = "completions";

/// What each key does.
pub(super) fn bindings() -> Keybindings {
    let mut keys = default_emacs_keybindings();
    let complete = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.to_owned()),
        ReedlineEvent::MenuNext,
    ]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(
        KeyModifiers::ALT,
        KeyCode::Enter,
        ReedlineEvent::Edit(vec![EditCommand::InsertNewline]),
    );
    let unfold = ReedlineEvent::ExecuteHostCommand("/unfold".to_owned());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), unfold);
    keys
}

/// A line that is being written, and where the cursor stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    pub cursor: usize,
}

impl Draft {
    /// A line with the cursor at its end.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    /// What stands before the cursor and behind it.
    pub fn parts(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }
}

/// A line that is edited without a prompt.
pub(super) struct LineEditor {
    /// Never reads a line: it holds the buffer and knows what each command does to it.
    buffer: Reedline,
    bindings: Keybindings,
    /// Lines that were written before, the oldest first.
    history: Vec<String>,
    /// How far back the line was recalled from, and what had been begun then.
    back: usize,
    begun: String,
}

impl Default for LineEditor {
    fn default() -> Self {
        Self {
            buffer: Reedline::create(),
            bindings: bindings(),
            history: Vec::new(),
            back: 0,
            begun: String::new(),
        }
    }
}

impl std::fmt::Debug for LineEditor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineEditor").field("draft", &self.draft()).finish_non_exhaustive()
    }
}

impl LineEditor {
    /// The line as far as it has come.
    pub(super) fn draft(&self) -> Draft {
        let text = self.buffer.current_buffer_contents().to_owned();
        Draft { text, cursor: self.buffer.current_insertion_point() }
    }

    /// Presses a key. Gives the line when it is ended.
    pub(super) fn press(&mut self, modifiers: KeyModifiers, key: KeyCode) -> Option<String> {
        let event = self.bindings.find_binding(modifiers, key).or(match key {
            KeyCode::Char(c) if modifiers.is_empty() => {
                Some(ReedlineEvent::Edit(vec![EditCommand::InsertChar(c)]))
            }
            _ => None,
        })?;
        if is_enter(&event) {
            return Some(self.submit());
        }
        self.apply(event);
        None
    }

    /// Adds text at the cursor as it is.
    pub(super) fn insert(&mut self, text: String) {
        self.buffer.run_edit_commands(&[EditCommand::InsertString(text)]);
    }

    /// Makes the line be this one, with the cursor at its end.
    pub(super) fn replace(&mut self, text: String) {
        self.buffer.run_edit_commands(&[EditCommand::Clear, EditCommand::InsertString(text)]);
    }

    /// Lines that were written elsewhere can be recalled from here on.
    pub(super) fn remember(&mut self, lines: Vec<String>) {
        self.history = lines;
        self.back = 0;
    }

    fn submit(&mut self) -> String {
        let line = self.draft().text.trim().to_owned();
        self.replace(String::new());
        if !line.is_empty() && self.history.last() != Some(&line) {
            self.history.push(line.clone());
        }
        self.back = 0;
        line
    }

    /// Does what a key is bound to. Says whether it means anything here: there is no menu and no
    /// search.
    fn apply(&mut self, event: ReedlineEvent) -> bool {
        let draft = self.draft();
        let (before, behind) = draft.parts();
        let command = match event {
            ReedlineEvent::Edit(commands) => {
                self.buffer.run_edit_commands(&commands);
                return true;
            }
            ReedlineEvent::UntilFound(events) => {
                return events.into_iter().any(|event| self.apply(event));
            }
            ReedlineEvent::Multiple(events) => {
                let mut applied = false;
                for event in events {
                    applied |= self.apply(event);
                }
                return applied;
            }
            ReedlineEvent::Up if before.contains('\n') => EditCommand::MoveLineUp { select: false },
            ReedlineEvent::Down if behind.contains('\n') => {
                EditCommand::MoveLineDown { select: false }
            }
            ReedlineEvent::Up | ReedlineEvent::PreviousHistory => {
                return self.recall(self.back + 1);
            }
            ReedlineEvent::Down | ReedlineEvent::NextHistory => {
                return self.recall(self.back.saturating_sub(1));
            }
            ReedlineEvent::Left => EditCommand::MoveLeft { select: false },
            ReedlineEvent::Right => EditCommand::MoveRight { select: false },
            _ => return false,
        };
        self.buffer.run_edit_commands(&[command]);
        true
    }

    /// Shows the line so far back; what had been begun stands in front of them all.
    fn recall(&mut self, back: usize) -> bool {
        if self.back == 0 {
            self.begun = self.draft().text;
        }
        let line = match back {
            0 => Some(self.begun.clone()),
            _ => self.history.iter().rev().nth(back - 1).cloned(),
        };
        if let Some(line) = line {
            self.back = back;
            self.replace(line);
        }
        true
    }
}

fn is_enter(event: &ReedlineEvent) -> bool {
    matches!(event, ReedlineEvent::Enter | ReedlineEvent::Submit | ReedlineEvent::SubmitOrNewline)
}
