//! The line that a person writes: edited, completed and remembered on a terminal, read as it comes without one.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use reedline::{
    Color, ColumnarMenu, EditCommand, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt, PromptEditMode,
    PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu, Signal, ValidationResult,
    Validator, default_emacs_keybindings,
};

use super::complete::{Complete, Known};

/// How many lines are remembered.
const HISTORY: usize = 2_000;

/// The name of the menu.
const MENU: &str = "completions";

/// What somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Words, perhaps on several lines.
    Text(String),
    /// Ctrl-C: what was begun is thrown away.
    Cancel,
    /// No more comes.
    End,
}

/// Where lines are written.
pub enum Input {
    /// On a terminal.
    Terminal(Box<Reedline>),
    /// From somewhere else.
    Plain,
}

impl Input {
    /// The terminal, if both ends are one.
    pub fn new(history: Option<&Path>, known: Arc<Mutex<Known>>) -> Self {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Self::Plain;
        }
        let mut keys = default_emacs_keybindings();
        let complete = ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::Edit(vec![EditCommand::InsertNewline]));
        keys.add_binding(
            KeyModifiers::CONTROL,
            KeyCode::Char('o'),
            ReedlineEvent::ExecuteHostCommand("/unfold".to_owned()),
        );
        let menu = ColumnarMenu::default().with_name(MENU);
        let mut editor = Reedline::create()
            .with_edit_mode(Box::new(reedline::Emacs::new(keys)))
            .with_completer(Box::new(Complete(known)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_validator(Box::new(Continued))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .use_bracketed_paste(true);
        let history = history.filter(|path| make_private(path).is_ok());
        if let Some(history) = history.and_then(|path| FileBackedHistory::with_file(HISTORY, path.to_owned()).ok()) {
            editor = editor.with_history(Box::new(history));
        }
        Self::Terminal(Box::new(editor))
    }

    /// The next line.
    pub fn read(&mut self, gauge: &str) -> Result<Line> {
        match self {
            Self::Terminal(editor) => Ok(match editor.read_line(&Gauge(gauge))? {
                Signal::Success(text) | Signal::HostCommand(text) => Line::Text(text.replace("\\\n", "\n")),
                Signal::CtrlC => Line::Cancel,
                _ => Line::End,
            }),
            Self::Plain => {
                let mut text = String::new();
                let read =
                    std::io::stdin().lock().read_line(&mut text).context("a line of standard input is no text")?;
                Ok(if read == 0 { Line::End } else { Line::Text(text.trim_end().to_owned()) })
            }
        }
    }

    /// The next line begins with this, which was typed before there was a prompt.
    pub fn go_on_with(&mut self, begun: &str) {
        if let Self::Terminal(editor) = self
            && !begun.is_empty()
        {
            editor.run_edit_commands(&[EditCommand::InsertString(begun.to_owned())]);
        }
    }

    /// Whether somebody sits before it.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }
}

/// What somebody wrote is for nobody else to read.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

/// A line that ends with a backslash goes on.
struct Continued;

impl Validator for Continued {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// The prompt, with how full the context is.
struct Gauge<'a>(&'a str);

/// The colour of the prompt, where colours are wanted.
fn colour(wanted: Color) -> Color {
    if std::env::var_os("NO_COLOR").is_some() { Color::Default } else { wanted }
}

impl Prompt for Gauge<'_> {
    fn get_prompt_color(&self) -> Color {
        colour(Color::Green)
    }

    fn get_indicator_color(&self) -> Color {
        colour(Color::Cyan)
    }

    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("› ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = if matches!(search.status, PromptHistorySearchStatus::Failing) { "?" } else { "" };
        Cow::Owned(format!("({}{failing}) ", search.term))
    }
}
