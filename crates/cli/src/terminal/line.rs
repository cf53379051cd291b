//! The line that a person writes: edited, completed and remembered on a terminal, read as it comes
//! without one.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use reedline::{
    Color, EditCommand, FileBackedHistory, Highlighter, Prompt, PromptEditMode,
    PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineMenu, SearchDirection,
    SearchQuery, Signal, SimpleMatchHighlighter, StyledText, ValidationResult, Validator,
};
use waterline_session::Level;

use super::complete::{Complete, Known, Look};
use super::editing::{MENU, bindings};
use super::menu::Offers;
use super::screen::{print, wants_colours};

/// How many lines are remembered.
const HISTORY: usize = 2_000;

/// How many of them can be recalled while the agent works.
const RECENT: i64 = 200;

/// What somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Words, perhaps on several lines.
    Text(String),
    /// Ctrl-C: what was begun is thrown away.
    Cancel {
        /// Nothing was begun.
        was_empty: bool,
    },
    /// No more comes.
    End,
}

/// Where lines are written.
pub enum Input {
    /// On a terminal.
    Terminal(Box<Editor>),
    /// From somewhere else.
    Plain,
}

/// A line that is edited.
pub struct Editor {
    reedline: Reedline,
    /// Whether nothing stands on it.
    is_empty: Arc<AtomicBool>,
}

impl Input {
    /// The terminal, if both ends are one. `sessions` are looked up when somebody wants to go over
    /// to one.
    pub fn new(history: Option<&Path>, known: Arc<Mutex<Known>>, sessions: Look) -> Self {
        if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
            return Self::Plain;
        }
        let is_empty = Arc::new(AtomicBool::new(true));
        let unstyled =
            Unstyled { plain: SimpleMatchHighlighter::default(), is_empty: Arc::clone(&is_empty) };
        let mut reedline = Reedline::create()
            .with_edit_mode(Box::new(reedline::Emacs::new(bindings())))
            .with_completer(Box::new(Complete::new(known, sessions)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(Offers::new(MENU))))
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
        Self::Terminal(Box::new(Editor { reedline, is_empty }))
    }

    /// The next line, behind a word on how full the context is.
    pub fn read(&mut self, gauge: &str, level: Level) -> Result<Line> {
        match self {
            Self::Terminal(editor) => editor.read(&Gauge { text: gauge, level }),
            Self::Plain => {
                let mut text = String::new();
                let read = std::io::stdin()
                    .lock()
                    .read_line(&mut text)
                    .context("a line of standard input is no text")?;
                Ok(if read == 0 { Line::End } else { Line::Text(text.trim_end().to_owned()) })
            }
        }
    }

    /// The next line begins with this, which was typed before there was a prompt.
    pub fn go_on_with(&mut self, begun: &str) {
        if let Self::Terminal(editor) = self
            && !begun.is_empty()
        {
            editor.reedline.run_edit_commands(&[EditCommand::InsertString(begun.to_owned())]);
        }
    }

    /// The newest lines, the oldest of them first.
    pub fn recent(&self) -> Vec<String> {
        let Self::Terminal(editor) = self else { return Vec::new() };
        let mut newest = SearchQuery::everything(SearchDirection::Backward, None);
        newest.limit = Some(RECENT);
        let found = editor.reedline.history().search(newest).unwrap_or_default();
        found.into_iter().rev().map(|item| item.command_line).collect()
    }

    /// Whether somebody sits before it.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }
}

impl Editor {
    fn read(&mut self, prompt: &Gauge<'_>) -> Result<Line> {
        Ok(match self.reedline.read_line(prompt)? {
            Signal::Success(text) => {
                // What was written is remembered also where the program is killed. That it cannot
                // be is no reason to stop.
                drop(self.reedline.sync_history());
                Line::Text(text.replace("\\\n", "\n"))
            }
            Signal::HostCommand(command) => {
                self.step_below();
                Line::Text(command)
            }
            Signal::CtrlC => Line::Cancel { was_empty: self.is_empty.load(Ordering::Relaxed) },
            _ => Line::End,
        })
    }

    /// Moves the cursor to a free line: a key that is a command leaves it within the line that is
    /// being written, which comes again with the next prompt.
    fn step_below(&self) {
        let rows = self.reedline.current_buffer_contents().matches('\n').count() + 1;
        print(&format!("\x1b[J{}", "\n".repeat(rows)));
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

/// Leaves the line in the colour of the terminal, and notes whether anything stands on it: Ctrl-C
/// has thrown it away before anybody can look.
struct Unstyled {
    plain: SimpleMatchHighlighter,
    is_empty: Arc<AtomicBool>,
}

impl Highlighter for Unstyled {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        self.is_empty.store(line.is_empty(), Ordering::Relaxed);
        self.plain.highlight(line, cursor)
    }
}

/// The prompt, with how full the context is.
struct Gauge<'a> {
    text: &'a str,
    level: Level,
}

/// The colour of the prompt, where colours are wanted.
fn colour(wanted: Color) -> Color {
    if wants_colours() { wanted } else { Color::Default }
}

impl Prompt for Gauge<'_> {
    fn get_prompt_color(&self) -> Color {
        colour(match self.level {
            Level::Normal | Level::Info => Color::Green,
            Level::Warning => Color::Yellow,
            Level::Critical => Color::Red,
        })
    }

    fn get_indicator_color(&self) -> Color {
        colour(Color::Cyan)
    }

    fn render_prompt_left(&self) -> Cow<'_, str> {
        match self.level {
            Level::Warning if !wants_colours() => Cow::Owned(format!("{}! ", self.text)),
            Level::Critical if !wants_colours() => Cow::Owned(format!("{}!! ", self.text)),
            _ => Cow::Borrowed(self.text),
        }
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
        let failing =
            if matches!(search.status, PromptHistorySearchStatus::Failing) { "?" } else { "" };
        Cow::Owned(format!("({}{failing}) ", search.term))
    }
}
