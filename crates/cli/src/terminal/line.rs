//! Reads the user's lines: with editing, completion and history on a terminal, as they are from a
//! pipe.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use reedline::{
    Color, EditCommand, FileBackedHistory, Highlighter, Prompt, PromptEditMode,
    PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineMenu, SearchDirection,
    SearchQuery, Signal, SimpleMatchHighlighter, StyledText, ValidationResult, Validator,
};
use waterline_session::Level;

use super::command_menu::CommandMenu;
use super::complete::{Complete, Known, ListSessions};
use super::editing::{COMMANDS, LineState, MENU, PromptKeys};
use super::menu::CompletionMenu;
use super::screen::{print, wants_colors};
use crate::text;

/// The sign at the end of the prompt.
const SIGN: &str = "› ";

/// The number of lines kept in the history.
const HISTORY: usize = 2_000;

/// The number of lines that can be recalled while the agent works.
const RECENT: i64 = 200;

/// What the user entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A text, perhaps of several lines.
    Text(String),
    /// Ctrl-C: the line is discarded.
    Cancel {
        /// Whether the line was empty.
        was_empty: bool,
    },
    /// The end of the input.
    End,
}

/// The source of the lines.
pub enum Input {
    Terminal(Box<Editor>),
    /// A pipe or a file.
    Plain,
}

/// The line editor at the prompt.
pub struct Editor {
    reedline: Reedline,
    state: Arc<LineState>,
}

impl Input {
    /// Returns the terminal, if standard input and output are one. `sessions` lists the session
    /// ids to complete.
    pub fn new(history: Option<&Path>, known: Arc<Mutex<Known>>, sessions: ListSessions) -> Self {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Self::Plain;
        }
        let state = Arc::new(LineState::default());
        let unstyled =
            Unstyled { plain: SimpleMatchHighlighter::default(), state: Arc::clone(&state) };
        let keys = PromptKeys::new(Arc::clone(&state));
        let commands = CommandMenu::new(COMMANDS, SIGN, Arc::clone(&state));
        let mut reedline = Reedline::create()
            .with_edit_mode(Box::new(keys))
            .with_ansi_colors(wants_colors())
            .with_completer(Box::new(Complete::new(known, sessions)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(CompletionMenu::new(MENU, SIGN))))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(commands)))
            .with_highlighter(Box::new(unstyled))
            .with_validator(Box::new(Continued))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .use_bracketed_paste(true);
        let history = history.filter(|path| make_private(path).is_ok());
        if let Some(history) =
            history.and_then(|path| FileBackedHistory::with_file(HISTORY, path.to_owned()).ok())
        {
            reedline = reedline.with_history(Box::new(history));
        }
        Self::Terminal(Box::new(Editor { reedline, state }))
    }

    /// Reads the next line; the prompt shows the gauge.
    pub fn read(&mut self, gauge: &str, level: Level) -> Result<Line> {
        match self {
            Self::Terminal(editor) => editor.read(&Gauge { text: gauge, level }),
            Self::Plain => {
                let mut text = String::new();
                let read = std::io::stdin()
                    .lock()
                    .read_line(&mut text)
                    .context(text!("input-not-text"))?;
                Ok(if read == 0 { Line::End } else { Line::Text(text.trim_end().to_owned()) })
            }
        }
    }

    /// Inserts text into the next line: it was typed before there was a prompt.
    pub fn prefill(&mut self, text: &str) {
        if let Self::Terminal(editor) = self
            && !text.is_empty()
        {
            editor.reedline.run_edit_commands(&[EditCommand::InsertString(text.to_owned())]);
        }
    }

    /// Returns the newest lines of the history, the oldest first.
    pub fn recent(&self) -> Vec<String> {
        let Self::Terminal(editor) = self else { return Vec::new() };
        let mut newest = SearchQuery::everything(SearchDirection::Backward, None);
        newest.limit = Some(RECENT);
        let found = editor.reedline.history().search(newest).unwrap_or_default();
        found.into_iter().rev().map(|item| item.command_line).collect()
    }

    /// Returns whether this is a terminal.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }
}

impl Editor {
    fn read(&mut self, prompt: &Gauge<'_>) -> Result<Line> {
        Ok(match self.reedline.read_line(prompt)? {
            Signal::Success(text) => {
                // Saved now, so that the line is kept even if the program is killed. A failure is
                // not a reason to stop.
                drop(self.reedline.sync_history());
                Line::Text(text.replace("\\\n", "\n"))
            }
            Signal::HostCommand(command) => {
                self.step_below();
                Line::Text(command)
            }
            Signal::CtrlC => {
                Line::Cancel { was_empty: self.state.is_empty.load(Ordering::Relaxed) }
            }
            _ => Line::End,
        })
    }

    /// Moves the cursor to a free line. A key bound to a command leaves it inside the unfinished
    /// line, which the next prompt shows again.
    fn step_below(&self) {
        let rows = self.reedline.current_buffer_contents().matches('\n').count() + 1;
        print(&format!("\x1b[J{}", "\n".repeat(rows)));
    }
}

/// Creates the history file so that only its owner can read it.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map(drop)
}

/// A backslash at the end of a line continues it.
struct Continued;

impl Validator for Continued {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// Leaves the line unstyled, and records whether it is empty, which is no longer known after
/// Ctrl-C, and whether a word starts.
struct Unstyled {
    plain: SimpleMatchHighlighter,
    state: Arc<LineState>,
}

impl Highlighter for Unstyled {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        self.state.is_empty.store(line.is_empty(), Ordering::Relaxed);
        let starts_word = cursor == line.len() && !line.ends_with(|c: char| !c.is_whitespace());
        self.state.starts_word.store(starts_word, Ordering::Relaxed);
        self.plain.highlight(line, cursor)
    }
}

/// The prompt, which shows the gauge.
struct Gauge<'a> {
    text: &'a str,
    level: Level,
}

/// Returns the color, or the default one if colors are off.
fn color(wanted: Color) -> Color {
    if wants_colors() { wanted } else { Color::Default }
}

impl Prompt for Gauge<'_> {
    fn get_prompt_color(&self) -> Color {
        color(match self.level {
            Level::Normal | Level::Info => Color::Green,
            Level::Warning => Color::Yellow,
            Level::Critical => Color::Red,
        })
    }

    fn get_indicator_color(&self) -> Color {
        color(Color::Cyan)
    }

    fn render_prompt_left(&self) -> Cow<'_, str> {
        match self.level {
            Level::Warning if !wants_colors() => Cow::Owned(format!("{}! ", self.text)),
            Level::Critical if !wants_colors() => Cow::Owned(format!("{}!! ", self.text)),
            _ => Cow::Borrowed(self.text),
        }
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(SIGN)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing =
            if matches!(search.status, PromptHistorySearchStatus::Failing) { "?" } else { "" };
        Cow::Owned(format!("({}{failing}) ", search.term))
    }
}
