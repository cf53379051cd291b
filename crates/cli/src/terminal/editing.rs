//! One line editor for the prompt and for typing while the agent works, with the key bindings and
//! the buffer of reedline. At the prompt reedline reads the keys itself; while the agent works,
//! `typing` reads them and this file applies them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{
    EditCommand, EditMode, Emacs, KeyCode, KeyModifiers, Keybindings, PromptEditMode, Reedline,
    ReedlineEvent, ReedlineRawEvent, default_emacs_keybindings,
};

/// The name of the completion menu.
pub(super) const MENU: &str = "completions";

/// The name of the list of commands and files.
pub(super) const COMMANDS: &str = "commands";

/// Returns the key bindings.
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

/// What the parts of the prompt know of the line.
#[derive(Debug)]
pub(super) struct LineState {
    /// Whether the line is empty.
    pub(super) is_empty: AtomicBool,
    /// Whether what is typed next starts a word at the end of the line.
    pub(super) starts_word: AtomicBool,
    /// Whether a row of the list below the prompt is chosen.
    pub(super) has_choice: AtomicBool,
    /// Whether that list has files.
    pub(super) is_file: AtomicBool,
}

impl Default for LineState {
    fn default() -> Self {
        Self {
            is_empty: AtomicBool::new(true),
            starts_word: AtomicBool::new(true),
            has_choice: AtomicBool::default(),
            is_file: AtomicBool::default(),
        }
    }
}

/// The keys at the prompt: those of Emacs, a `/` at the start of a line that opens the list of
/// commands, a `#` at the start of a word that opens the list of files, and an Enter that runs the
/// chosen command or inserts the chosen file.
pub(super) struct PromptKeys {
    emacs: Emacs,
    state: Arc<LineState>,
}

impl PromptKeys {
    pub(super) fn new(state: Arc<LineState>) -> Self {
        Self { emacs: Emacs::new(bindings()), state }
    }

    /// Returns whether a key opens the list.
    fn opens_list(&self, event: &ReedlineEvent) -> bool {
        let ReedlineEvent::Edit(commands) = event else { return false };
        match commands.as_slice() {
            [EditCommand::InsertChar('/')] => self.state.is_empty.load(Ordering::Relaxed),
            [EditCommand::InsertChar('#')] => self.state.starts_word.load(Ordering::Relaxed),
            _ => false,
        }
    }
}

impl EditMode for PromptKeys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.emacs.parse_event(event);
        match &event {
            _ if self.opens_list(&event) => {
                ReedlineEvent::Multiple(vec![event, ReedlineEvent::Menu(COMMANDS.to_owned())])
            }
            ReedlineEvent::Enter if self.state.has_choice.load(Ordering::Relaxed) => {
                match self.state.is_file.load(Ordering::Relaxed) {
                    true => ReedlineEvent::MenuAccept,
                    false => ReedlineEvent::Multiple(vec![
                        ReedlineEvent::MenuAccept,
                        ReedlineEvent::Submit,
                    ]),
                }
            }
            _ => event,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.emacs.edit_mode()
    }
}

/// An unfinished line, and the position of the cursor in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    pub cursor: usize,
}

impl Draft {
    /// Creates a draft with the cursor at its end.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    /// Returns the text before the cursor and the text after it.
    pub fn parts(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }
}

/// Edits a line without a prompt.
pub(super) struct LineEditor {
    /// Never reads a line: it only holds the buffer and applies edit commands to it.
    buffer: Reedline,
    bindings: Keybindings,
    /// Earlier lines, the oldest first.
    history: Vec<String>,
    /// How far back in the history the line is; 0 is the draft.
    back: usize,
    /// The draft, while an earlier line is recalled.
    draft: String,
}

impl Default for LineEditor {
    fn default() -> Self {
        Self {
            buffer: Reedline::create(),
            bindings: bindings(),
            history: Vec::new(),
            back: 0,
            draft: String::new(),
        }
    }
}

impl std::fmt::Debug for LineEditor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineEditor").field("draft", &self.draft()).finish_non_exhaustive()
    }
}

impl LineEditor {
    /// Returns the unfinished line.
    pub(super) fn draft(&self) -> Draft {
        let text = self.buffer.current_buffer_contents().to_owned();
        Draft { text, cursor: self.buffer.current_insertion_point() }
    }

    /// Applies a key. Returns the line if the key submits it.
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

    /// Inserts text at the cursor.
    pub(super) fn insert(&mut self, text: String) {
        self.buffer.run_edit_commands(&[EditCommand::InsertString(text)]);
    }

    /// Replaces the line; the cursor is at its end.
    pub(super) fn replace(&mut self, text: String) {
        self.buffer.run_edit_commands(&[EditCommand::Clear, EditCommand::InsertString(text)]);
    }

    /// Sets the earlier lines that can be recalled.
    pub(super) fn set_history(&mut self, lines: Vec<String>) {
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

    /// Applies the event of a key. Returns whether it is supported; menus and searches are not.
    fn apply(&mut self, event: ReedlineEvent) -> bool {
        let draft = self.draft();
        let (before, after) = draft.parts();
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
            ReedlineEvent::Down if after.contains('\n') => {
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

    /// Shows the line this far back in the history; 0 is the draft.
    fn recall(&mut self, back: usize) -> bool {
        if self.back == 0 {
            self.draft = self.draft().text;
        }
        let line = match back {
            0 => Some(self.draft.clone()),
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
