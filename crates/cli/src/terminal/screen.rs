//! The screen: permanent lines, the answer as it streams, and a footer while the agent works.
//! Without a terminal the same text is written plain.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use tokio::sync::oneshot;
use waterline_agent::ApprovalReply;

use super::activity::Activities;
use super::calls::{Calls, FinishedCall};
use super::editing::Draft;
use super::footer::Footer;
use super::markdown::{Markdown, NARROWEST, Size};
use super::queue::Queue;
use super::typing::Typing;
use crate::lang::lang;
use crate::show::rows::wrap_styled;
use crate::show::{self, DIM, Granting, lines};
use crate::text;

pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();

/// How often the footer is redrawn.
const TICK: Duration = Duration::from_millis(100);

/// Synchronized output: a terminal that supports it draws everything in between at once.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// The screen of a chat.
pub struct Screen {
    inner: Mutex<Inner>,
    /// The line being typed. If both locks are needed, `inner` is locked first.
    typing: Arc<Mutex<Typing>>,
    /// Whether the cursor can be moved.
    moves_cursor: bool,
    /// Whether colors are wanted.
    colored: bool,
    /// Whether the user can type while the agent works.
    pub(super) accepts_input: bool,
    /// How the user can grant what the sandbox refused.
    pub(super) granting: Granting,
}

#[derive(Default)]
pub(super) struct Inner {
    markdown: Option<Markdown>,
    /// Whether the current line has text of the answer.
    open_line: bool,
    pub(super) activities: Activities,
    is_footer_drawn: bool,
    /// The line being typed.
    draft: Draft,
    /// The draft from before a question was asked: it is not an answer to it.
    stashed: String,
    pub(super) calls: Calls,
    /// The number of todos written by the call whose result comes next.
    pub(super) todos: Option<usize>,
    pub(super) question: Option<OpenQuestion>,
    /// The lines typed while the agent works.
    pub(super) queue: Queue,
    /// Whether the keyboard has ended.
    pub(super) is_input_closed: bool,
}

/// A question or an approval request that waits for an answer.
pub(super) struct OpenQuestion {
    /// Sends the answer; closed when the answer is no longer awaited.
    pub(super) answer: oneshot::Sender<String>,
    /// A summary on one row, as the question itself may have scrolled away; empty if it is short.
    pub(super) about: String,
    /// Whether an empty line is not accepted as an answer.
    pub(super) requires_answer: bool,
}

impl Inner {
    /// Returns the question whose answer is still awaited.
    fn open_question(&self) -> Option<&OpenQuestion> {
        self.question.as_ref().filter(|question| !question.answer.is_closed())
    }
}

impl Screen {
    /// Creates the screen on standard output.
    pub fn new(granting: Granting) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let moves_cursor =
            is_terminal && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self {
            inner: Mutex::default(),
            typing: Arc::default(),
            moves_cursor,
            colored: moves_cursor && wants_colors(),
            accepts_input: is_terminal && std::io::stdin().is_terminal(),
            granting,
        }
    }

    /// Returns whether the line being typed is shown in the footer.
    pub const fn has_footer(&self) -> bool {
        self.moves_cursor
    }

    /// Prints a line for the user.
    pub fn print_line(&self, text: &str) {
        self.print_styled(&lines(text));
    }

    /// Prints a line that may contain style codes.
    pub fn print_styled(&self, text: &str) {
        self.line(&mut self.lock(), text);
    }

    /// Prints a line of secondary information.
    pub fn print_note(&self, text: &str) {
        self.print_styled(&dim(text));
    }

    /// Prints an error. Those of the libraries start in lower case, other lines of a chat do not.
    pub fn print_error(&self, text: &str) {
        self.print_styled(&in_style(&show::capitalized(lang(), text), RED));
    }

    /// Returns the finished call with this number, or the last one.
    pub fn call(&self, number: Option<usize>) -> Option<FinishedCall> {
        self.lock().calls.get(number).cloned()
    }

    /// Replaces the finished calls by those of a session.
    pub fn set_calls(&self, calls: Vec<FinishedCall>) {
        self.lock().calls.set_finished(calls);
    }

    /// Prints a whole answer as if it had just arrived.
    pub fn print_answer(&self, text: &str) {
        let mut inner = self.lock();
        self.end_line(&mut inner);
        self.write_answer(&mut inner, text);
        self.end_line(&mut inner);
    }

    /// Returns the rows of the screen.
    pub fn rows(&self) -> usize {
        size().rows
    }

    /// Returns whether a question waits for an answer.
    pub fn has_question(&self) -> bool {
        self.lock().open_question().is_some()
    }

    /// Returns the line being typed, for the reader of the keyboard.
    pub fn typing(&self) -> Arc<Mutex<Typing>> {
        Arc::clone(&self.typing)
    }

    /// Sets the lines that the arrow keys recall while the agent works, the oldest first.
    pub fn set_history(&self, lines: Vec<String>) {
        self.typing.lock().unwrap_or_else(PoisonError::into_inner).set_history(lines);
    }

    /// Stashes the draft before a question is asked. If another question was open, the draft was
    /// for that one and is dropped.
    pub(super) fn stash_draft(&self, inner: &mut Inner) {
        let draft = self.swap_draft(String::new());
        if inner.question.is_none() {
            inner.stashed.push_str(&draft);
        }
        inner.draft = Draft::default();
    }

    /// Restores the stashed draft after a question was answered or cancelled.
    fn restore_draft(&self, inner: &mut Inner) {
        inner.draft = Draft::new(std::mem::take(&mut inner.stashed));
        self.swap_draft(inner.draft.text.clone());
    }

    fn swap_draft(&self, line: String) -> String {
        self.typing.lock().unwrap_or_else(PoisonError::into_inner).swap(line)
    }

    /// The line being typed changed.
    pub fn draft_changed(&self) {
        let mut inner = self.lock();
        let draft = self.typing.lock().unwrap_or_else(PoisonError::into_inner).draft();
        let text = &draft.text;
        if inner.question.is_some()
            && inner.open_question().is_none()
            && !text.is_empty()
            && ApprovalReply::read(text).is_none()
        {
            // The question has timed out, and this is not a late reply to it.
            inner.question = None;
        }
        if inner.draft != draft {
            inner.draft = draft;
            self.draw(&mut inner, "");
        }
    }

    /// Takes a line that was typed while the agent works: the answer to an open question, else
    /// steering.
    pub fn submit(&self, line: &str) {
        let mut inner = self.lock();
        inner.draft = Draft::default();
        match inner.question.take() {
            Some(question) if line.is_empty() && question.requires_answer => {
                inner.question = Some(question);
                self.draw(&mut inner, "");
            }
            Some(question) if !question.answer.is_closed() => {
                if self.moves_cursor {
                    self.line(&mut inner, &format!("» {}", lines(line)));
                }
                self.restore_draft(&mut inner);
                self.draw(&mut inner, "");
                drop(question.answer.send(line.to_owned()));
            }
            // The model would not know what a bare "y" is about.
            Some(_) if ApprovalReply::read(line).is_some() => {
                self.restore_draft(&mut inner);
                self.line(&mut inner, &dim(&text!("approval-too-late")));
            }
            _ => {
                if !line.is_empty() {
                    inner.queue.push_message(line);
                }
                self.draw(&mut inner, "");
            }
        }
    }

    /// Queues a message to steer the agent, even while a question is open.
    pub fn steer(&self, text: &str) {
        let mut inner = self.lock();
        inner.draft = Draft::default();
        inner.queue.push_message(text);
        self.draw(&mut inner, "");
    }

    /// Queues a command that was typed while the agent works; it runs after the turn.
    pub fn queue_command(&self, line: &str) {
        let mut inner = self.lock();
        inner.draft = Draft::default();
        inner.queue.push_command(line);
        if inner.open_question().is_some() {
            self.line(&mut inner, &dim(&text!("queued-command", command = line)));
        }
        self.draw(&mut inner, "");
    }

    /// The keyboard has ended: questions of this turn can no longer be answered.
    pub fn close_input(&self) {
        let mut inner = self.lock();
        inner.is_input_closed = true;
        inner.question = None;
        self.draw(&mut inner, "");
    }

    /// Takes the messages that came too late for the turn, and the commands. Messages for the same
    /// turn are together.
    pub fn take_queued(&self) -> Vec<Vec<String>> {
        self.lock().queue.take_all()
    }

    /// Returns whether a line that was typed during the turn waits.
    pub fn has_queued(&self) -> bool {
        !self.lock().queue.texts().is_empty()
    }

    /// Ends whatever is unfinished on the screen. Returns the draft.
    pub fn end_turn(&self) -> String {
        let mut inner = self.lock();
        // A draft for a question is not meant for the prompt.
        if inner.question.take().is_some() {
            self.restore_draft(&mut inner);
        }
        let draft = std::mem::take(&mut inner.stashed) + &std::mem::take(&mut inner.draft).text;
        self.swap_draft(String::new());
        inner.is_input_closed = false;
        inner.activities.clear();
        self.end_line(&mut inner);
        self.show_stopped(&mut inner);
        if std::mem::take(&mut inner.is_footer_drawn) {
            print("\x1b[J");
        }
        draft
    }

    /// Redraws the footer while there is an activity. Never returns.
    pub async fn animate(&self) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tick.tick().await;
            let mut inner = self.lock();
            if !inner.activities.is_empty() {
                self.draw(&mut inner, "");
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the width of the screen.
    pub fn columns(&self) -> usize {
        size().columns
    }

    /// Prints permanent lines, wrapped to the width of the screen. They may contain style codes.
    pub(super) fn line(&self, inner: &mut Inner, text: &str) {
        self.end_line(inner);
        let mut text = if self.colored {
            text.to_owned()
        } else {
            anstream::adapter::strip_str(text).to_string()
        };
        if self.moves_cursor {
            text = wrap_styled(&text, self.columns().max(NARROWEST) - 1);
        }
        self.draw(inner, &format!("{text}\n"));
    }

    /// Ends the answer, if one is being written, and moves the cursor to a free line.
    pub(super) fn end_line(&self, inner: &mut Inner) {
        inner.activities.set_table(false);
        let rest =
            inner.markdown.take().map(|mut markdown| markdown.resize(size()) + &markdown.finish());
        let mut rest = rest.unwrap_or_default();
        if std::mem::take(&mut inner.open_line) && !self.moves_cursor {
            rest.push('\n');
        }
        if !rest.is_empty() {
            self.draw(inner, &rest);
        }
    }

    /// Shows the current activity below a free line.
    pub(super) fn show_activity(&self, inner: &mut Inner) {
        self.end_line(inner);
        self.draw(inner, "");
    }

    /// Writes more of the answer.
    pub(super) fn write_answer(&self, inner: &mut Inner, text: &str) {
        inner.open_line = true;
        if !self.moves_cursor {
            return print(&lines(text));
        }
        let size = size();
        let markdown = inner.markdown.get_or_insert_with(|| Markdown::new(size, self.colored));
        let shown = markdown.resize(size) + &markdown.push(text);
        let holds_back = markdown.holds_back();
        inner.activities.set_table(holds_back);
        self.draw(inner, &shown);
    }

    /// Writes text at the cursor, and the footer below it.
    pub(super) fn draw(&self, inner: &mut Inner, text: &str) {
        if !self.moves_cursor {
            return print(text);
        }
        let size = size();
        let answer = inner.markdown.as_mut().filter(|_| text.is_empty());
        let resized = answer.map(|markdown| markdown.resize(size)).unwrap_or_default();
        let question = inner.open_question();
        let footer = Footer {
            working: inner.activities.working(),
            queued: inner.queue.texts(),
            question: question
                .map(|question| question.about.as_str())
                .filter(|about| !about.is_empty()),
            draft: Some(&inner.draft).filter(|draft| question.is_some() || !draft.text.is_empty()),
        };
        let column = inner.markdown.as_ref().map_or(0, Markdown::column);
        let drawn = footer.draw(column, size);
        let footer = if self.colored { drawn } else { without_styles(&drawn) };
        let clear = if inner.is_footer_drawn { "\x1b[J" } else { "" };
        inner.is_footer_drawn = !footer.is_empty();
        if !(clear.is_empty() && resized.is_empty() && text.is_empty() && footer.is_empty()) {
            print(&format!("{BEGIN}{clear}{resized}{text}{footer}{END}"));
        }
    }
}

/// Styles a line of secondary information.
pub(super) fn dim(text: &str) -> String {
    in_style(text, DIM)
}

fn in_style(text: &str, style: Style) -> String {
    format!("{style}{}{style:#}", lines(text))
}

/// Returns whether colors are wanted: `NO_COLOR` is unset or empty.
pub(super) fn wants_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the size of the screen, 80 × 24 if it is unknown.
fn size() -> Size {
    let (columns, rows) = show::size().unwrap_or((80, 24));
    Size { columns, rows }
}

/// Removes style codes; codes that move the cursor stay.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let command = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match command.strip_prefix('m') {
            Some(rest) => out += rest,
            None => out += &format!("\x1b[{part}"),
        }
    }
    out
}

/// Prints a text. Errors are ignored: if the pipe is closed, the rest is not wanted.
pub(super) fn print(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_styles_keeps_cursor_movements() {
        let text = format!("\n{DIM}a{DIM:#} {RED}b{RED:#}\x1b[2A\r\x1b[12C");
        assert_eq!(without_styles(&text), "\na b\x1b[2A\r\x1b[12C");
    }
}
