//! What is on the screen: lines that stay, an answer that is being written, and below them a footer while the agent works.
//! Without a terminal the same words, plain.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anstyle::Style;
use tokio::sync::oneshot;

use super::footer::{Footer, Working};
use super::markdown::{Markdown, Size};
use crate::lang::say;
use crate::show::lines;

pub(super) const DIM: Style = Style::new().dimmed();

/// How often the footer shows that the program lives.
const TICK: Duration = Duration::from_millis(100);

/// Has a terminal that knows it show nothing of what is half drawn.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// A call that was shown on one line.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub arguments: String,
    /// What it gave.
    pub text: String,
}

/// What is on the screen.
pub struct Screen {
    inner: Mutex<Inner>,
    /// Whether the cursor can be moved.
    moves: bool,
    /// Whether colours are wanted.
    coloured: bool,
    /// Whether somebody can type while the agent works.
    pub(super) listens: bool,
    /// Who asks waits for whoever asked before.
    pub(super) asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
pub(super) struct Inner {
    markdown: Option<Markdown>,
    /// Words of the answer stand on the line.
    open_line: bool,
    working: Option<Working>,
    footed: bool,
    /// What is being typed.
    typed: String,
    /// Calls that have begun: id and arguments.
    pub(super) begun: Vec<(String, String)>,
    pub(super) calls: Vec<Folded>,
    pub(super) asked: Option<oneshot::Sender<String>>,
    pub(super) steers: VecDeque<String>,
    /// Commands that were typed while the agent worked.
    later: Vec<String>,
    /// Nobody types any more.
    pub(super) gone: bool,
}

impl Screen {
    /// The screen that standard output is, if it is one.
    pub fn new() -> Self {
        let shows = std::io::stdout().is_terminal();
        let moves = shows && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let coloured = moves && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let listens = shows && std::io::stdin().is_terminal();
        Self { inner: Mutex::default(), moves, coloured, listens, asking: tokio::sync::Mutex::default() }
    }

    /// Whether what is typed can be shown where it disturbs nothing.
    pub const fn has_footer(&self) -> bool {
        self.moves
    }

    /// A line for the person.
    pub fn say(&self, text: &str) {
        self.show(&lines(text));
    }

    /// A line that may hold codes of ours.
    pub fn show(&self, text: &str) {
        self.line(&mut self.lock(), text);
    }

    /// A word beside the matter.
    pub fn note(&self, text: &str) {
        self.show(&dim(text));
    }

    /// The call of a number, or the last one.
    pub fn folded(&self, number: Option<usize>) -> Option<Folded> {
        let inner = self.lock();
        let at = number.unwrap_or(inner.calls.len());
        at.checked_sub(1).and_then(|at| inner.calls.get(at).cloned())
    }

    /// What is being typed while the agent works.
    pub fn typing(&self, text: String) {
        let mut inner = self.lock();
        if inner.typed != text {
            inner.typed = text;
            self.put(&mut inner, "");
        }
    }

    /// A line that was typed while the agent works: an answer where somebody waits for one, else something to steer it with.
    pub fn typed(&self, line: &str) {
        let mut inner = self.lock();
        inner.typed.clear();
        match inner.asked.take().filter(|asked| !asked.is_closed()) {
            Some(asked) => {
                if self.moves {
                    self.line(&mut inner, &format!("» {}", lines(line)));
                }
                drop(asked.send(line.to_owned()));
            }
            None if line.is_empty() => {}
            None => {
                inner.steers.push_back(line.to_owned());
                self.put(&mut inner, "");
            }
        }
    }

    /// A command that was typed while the agent works; it is carried out behind the turn.
    pub fn later(&self, line: &str) {
        let mut inner = self.lock();
        inner.typed.clear();
        inner.later.push(line.to_owned());
        self.put(&mut inner, "");
    }

    /// Nobody answers any more in this turn.
    pub fn hang_up(&self) {
        let mut inner = self.lock();
        inner.gone = true;
        inner.asked = None;
    }

    /// What was typed too late to be heard in the turn, and commands.
    pub fn left_over(&self) -> Vec<String> {
        let mut inner = self.lock();
        let steers: Vec<String> = inner.steers.drain(..).collect();
        let later = std::mem::take(&mut inner.later);
        steers.into_iter().chain(later).collect()
    }

    /// Ends whatever is unfinished on the screen. Gives the line that was begun.
    pub fn settle(&self) -> String {
        let mut inner = self.lock();
        let begun = std::mem::take(&mut inner.typed);
        inner.asked = None;
        inner.gone = false;
        inner.begun.clear();
        self.quiet(&mut inner);
        if std::mem::take(&mut inner.footed) {
            print("\x1b[J");
        }
        begun
    }

    /// Shows that the program lives, as long as it is waited for.
    pub async fn live(&self) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tick.tick().await;
            let mut inner = self.lock();
            if inner.working.is_some() {
                self.put(&mut inner, "");
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns of a line.
    pub(super) fn columns(&self) -> usize {
        size().columns
    }

    /// A line that stays.
    pub(super) fn line(&self, inner: &mut Inner, text: &str) {
        self.quiet(inner);
        let text = if self.coloured { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
        self.put(inner, &format!("{text}\n"));
    }

    /// Makes the cursor stand on a free line, with nothing going on.
    pub(super) fn quiet(&self, inner: &mut Inner) {
        inner.working = None;
        let mut rest = inner.markdown.take().map(|mut markdown| markdown.finish()).unwrap_or_default();
        if std::mem::take(&mut inner.open_line) && !self.moves {
            rest.push('\n');
        }
        if !rest.is_empty() {
            self.put(inner, &rest);
        }
    }

    /// A sign of life.
    pub(super) fn wait(&self, inner: &mut Inner, about: &str) {
        self.quiet(inner);
        inner.working = Some(Working { about: about.to_owned(), since: Instant::now() });
        self.put(inner, "");
    }

    /// More of the answer.
    pub(super) fn write(&self, inner: &mut Inner, text: &str) {
        inner.open_line = true;
        if !self.moves {
            return print(&lines(text));
        }
        let markdown = inner.markdown.get_or_insert_with(|| Markdown::new(size(), self.coloured));
        let shown = markdown.push(text);
        let about = markdown.holds_back().then(|| say("writing a table", "正在写表格"));
        inner.working = match (inner.working.take(), about) {
            (working, Some(about)) => {
                working.or_else(|| Some(Working { about: about.to_owned(), since: Instant::now() }))
            }
            (_, None) => None,
        };
        self.put(inner, &shown);
    }

    /// Writes where the cursor stands, and the footer below it.
    fn put(&self, inner: &mut Inner, text: &str) {
        if !self.moves {
            return print(text);
        }
        let asks = inner.asked.is_some();
        let footer = Footer {
            working: inner.working.as_ref(),
            waiting: &mut inner.steers.iter().chain(&inner.later),
            typed: Some(inner.typed.as_str()).filter(|typed| asks || !typed.is_empty()),
        };
        let column = inner.markdown.as_ref().map_or(0, Markdown::column);
        let footer = footer.draw(column, size().columns);
        let footer = if self.coloured { footer } else { without_styles(&footer) };
        let clear = if inner.footed { "\x1b[J" } else { "" };
        inner.footed = !footer.is_empty();
        if !(clear.is_empty() && text.is_empty() && footer.is_empty()) {
            print(&format!("{BEGIN}{clear}{text}{footer}{END}"));
        }
    }
}

/// A word beside the matter, as it looks.
pub(super) fn dim(text: &str) -> String {
    format!("{DIM}{}{DIM:#}", lines(text))
}

fn size() -> Size {
    let (columns, rows) = terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0, height.0));
    Size { columns: columns.into(), rows: rows.into() }
}

/// Takes out what dims and resets; what moves the cursor stays.
fn without_styles(text: &str) -> String {
    text.replace(&DIM.render().to_string(), "").replace(&DIM.render_reset().to_string(), "")
}

/// Whoever closed the pipe does not want the rest.
fn print(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}
