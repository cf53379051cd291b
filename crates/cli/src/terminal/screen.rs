//! What is on the screen: lines that stay, an answer that is being written, and below them a footer
//! while the agent works. Without a terminal the same words, plain.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use tokio::sync::oneshot;
use waterline_agent::ApprovalReply;

use super::activity::Activities;
use super::calls::{Calls, Folded};
use super::editing::Draft;
use super::footer::Footer;
use super::markdown::{Markdown, Size, wrapped};
use super::queue::Queue;
use super::typing::Typing;
use crate::lang::say;
use crate::show::{self, DIM, lines};

pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();

/// How often the footer shows that the program lives.
const TICK: Duration = Duration::from_millis(100);

/// Has a terminal that knows it show nothing of what is half drawn.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// What is on the screen.
pub struct Screen {
    inner: Mutex<Inner>,
    /// The line that is being typed. Whoever holds both locks took the other one first.
    typing: Arc<Mutex<Typing>>,
    /// Whether the cursor can be moved.
    moves: bool,
    /// Whether colours are wanted.
    coloured: bool,
    /// Whether somebody can type while the agent works.
    pub(super) listens: bool,
}

#[derive(Default)]
pub(super) struct Inner {
    markdown: Option<Markdown>,
    /// Words of the answer stand on the line.
    open_line: bool,
    pub(super) doings: Activities,
    footed: bool,
    /// What is being typed.
    typed: Draft,
    /// What had been begun when a question came up: it is no answer to it.
    set_aside: String,
    pub(super) calls: Calls,
    /// How many todos the call wrote whose result comes next.
    pub(super) todos: Option<usize>,
    pub(super) asked: Option<OpenQuestion>,
    /// What was typed while the agent works.
    pub(super) queue: Queue,
    /// Nobody types any more.
    pub(super) gone: bool,
}

/// Somebody is asked.
pub(super) struct OpenQuestion {
    /// Who waits for the answer; closed when nobody does any more.
    pub(super) answer: oneshot::Sender<String>,
    /// What it is about, on one row: what is printed meanwhile may have pushed the question itself
    /// away.
    pub(super) about: String,
    /// Nothing is no answer to it.
    pub(super) insists: bool,
}

impl Inner {
    /// What somebody is asked, as long as the answer is waited for.
    fn question(&self) -> Option<&OpenQuestion> {
        self.asked.as_ref().filter(|asked| !asked.answer.is_closed())
    }
}

impl Screen {
    /// The screen that standard output is, if it is one.
    pub fn new() -> Self {
        let shows = std::io::stdout().is_terminal();
        let moves = shows && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let coloured = moves && wants_colours();
        let listens = shows && std::io::stdin().is_terminal();
        Self { inner: Mutex::default(), typing: Arc::default(), moves, coloured, listens }
    }

    /// Whether what is typed can be shown where it disturbs nothing.
    pub const fn has_footer(&self) -> bool {
        self.moves
    }

    /// A line for the person.
    pub fn say(&self, text: &str) {
        self.show(&self.told(text, Style::new()));
    }

    /// Words of the program, as wide as the screen.
    fn told(&self, text: &str, style: Style) -> String {
        if self.moves {
            wrapped(text, style, size())
        } else {
            format!("{style}{}{style:#}", lines(text))
        }
    }

    /// A line that may hold codes of ours.
    pub fn show(&self, text: &str) {
        self.line(&mut self.lock(), text);
    }

    /// A word beside the matter.
    pub fn note(&self, text: &str) {
        self.show(&self.told(text, DIM));
    }

    /// Something went wrong.
    pub fn complain(&self, text: &str) {
        self.show(&self.told(text, RED));
    }

    /// The call of a number, or the last one.
    pub fn folded(&self, number: Option<usize>) -> Option<Folded> {
        self.lock().calls.get(number).cloned()
    }

    /// Another session begins: its calls are numbered from one on.
    pub fn forget_calls(&self) {
        self.lock().calls.forget();
    }

    /// Whether somebody is asked something.
    pub fn asks(&self) -> bool {
        self.lock().question().is_some()
    }

    /// The line that is being typed, for whoever reads the keys.
    pub fn line_typed(&self) -> Arc<Mutex<Typing>> {
        Arc::clone(&self.typing)
    }

    /// Lines from before that the arrow keys recall while the agent works, the oldest first.
    pub fn recall(&self, lines: Vec<String>) {
        self.typing.lock().unwrap_or_else(PoisonError::into_inner).remember(lines);
    }

    /// A question comes up: what was begun before is set aside, and what was begun for the question
    /// before it is gone.
    pub(super) fn make_way(&self, inner: &mut Inner) {
        let begun = self.swap_line(String::new());
        if inner.asked.is_none() {
            inner.set_aside.push_str(&begun);
        }
        inner.typed = Draft::default();
    }

    /// A question is answered, or nobody waits for it any more: what was set aside is gone on with.
    fn take_up(&self, inner: &mut Inner) {
        inner.typed = Draft::new(std::mem::take(&mut inner.set_aside));
        self.swap_line(inner.typed.text.clone());
    }

    fn swap_line(&self, line: String) -> String {
        self.typing.lock().unwrap_or_else(PoisonError::into_inner).swap(line)
    }

    /// More was typed while the agent works.
    pub fn typing(&self) {
        let mut inner = self.lock();
        let draft = self.typing.lock().unwrap_or_else(PoisonError::into_inner).draft();
        let text = &draft.text;
        if inner.asked.is_some()
            && inner.question().is_none()
            && !text.is_empty()
            && ApprovalReply::read(text).is_none()
        {
            // The time for an answer is over, and this is none.
            inner.asked = None;
        }
        if inner.typed != draft {
            inner.typed = draft;
            self.put(&mut inner, "");
        }
    }

    /// A line that was typed while the agent works: an answer where somebody waits for one, else
    /// something to steer it with.
    pub fn typed(&self, line: &str) {
        let mut inner = self.lock();
        inner.typed = Draft::default();
        match inner.asked.take() {
            Some(asked) if line.is_empty() && asked.insists => {
                inner.asked = Some(asked);
                self.put(&mut inner, "");
            }
            Some(asked) if !asked.answer.is_closed() => {
                if self.moves {
                    self.line(&mut inner, &format!("» {}", lines(line)));
                }
                self.take_up(&mut inner);
                self.put(&mut inner, "");
                drop(asked.answer.send(line.to_owned()));
            }
            // The model would not know what a bare "y" is about.
            Some(_) if ApprovalReply::read(line).is_some() => {
                self.take_up(&mut inner);
                self.line(
                    &mut inner,
                    &dim(say("too late: it was answered as no", "太迟了：已按拒绝处理")),
                );
            }
            _ => {
                if !line.is_empty() {
                    inner.queue.say(line);
                }
                self.put(&mut inner, "");
            }
        }
    }

    /// Words to steer the agent with, also where somebody is asked something.
    pub fn steer(&self, words: &str) {
        let mut inner = self.lock();
        inner.typed = Draft::default();
        inner.queue.say(words);
        self.put(&mut inner, "");
    }

    /// A command that was typed while the agent works; it is carried out behind the turn.
    pub fn later(&self, line: &str) {
        let mut inner = self.lock();
        inner.typed = Draft::default();
        inner.queue.command(line);
        if inner.question().is_some() {
            let (en, zh) =
                (format!("{line} waits until the turn ends"), format!("{line} 将在本轮结束后执行"));
            self.line(&mut inner, &dim(&say(en, zh)));
        }
        self.put(&mut inner, "");
    }

    /// Nobody answers any more in this turn.
    pub fn hang_up(&self) {
        let mut inner = self.lock();
        inner.gone = true;
        inner.asked = None;
        self.put(&mut inner, "");
    }

    /// What was typed too late to be heard in the turn, and commands.
    pub fn left_over(&self) -> Vec<String> {
        self.lock().queue.rest()
    }

    /// Ends whatever is unfinished on the screen. Gives the line that was begun.
    pub fn settle(&self) -> String {
        let mut inner = self.lock();
        // What was begun for a question is not meant for the prompt.
        if inner.asked.take().is_some() {
            self.take_up(&mut inner);
        }
        let begun = std::mem::take(&mut inner.set_aside) + &std::mem::take(&mut inner.typed).text;
        self.swap_line(String::new());
        inner.gone = false;
        inner.calls.close();
        inner.doings.forget();
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
            if !inner.doings.is_empty() {
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
        let text = if self.coloured {
            text.to_owned()
        } else {
            anstream::adapter::strip_str(text).to_string()
        };
        self.put(inner, &format!("{text}\n"));
    }

    /// Makes the cursor stand on a free line.
    pub(super) fn quiet(&self, inner: &mut Inner) {
        inner.doings.table(false);
        let rest =
            inner.markdown.take().map(|mut markdown| markdown.resize(size()) + &markdown.finish());
        let mut rest = rest.unwrap_or_default();
        if std::mem::take(&mut inner.open_line) && !self.moves {
            rest.push('\n');
        }
        if !rest.is_empty() {
            self.put(inner, &rest);
        }
    }

    /// Shows what goes on now, below a free line.
    pub(super) fn wait(&self, inner: &mut Inner) {
        self.quiet(inner);
        self.put(inner, "");
    }

    /// More of the answer.
    pub(super) fn write(&self, inner: &mut Inner, text: &str) {
        inner.open_line = true;
        if !self.moves {
            return print(&lines(text));
        }
        let size = size();
        let markdown = inner.markdown.get_or_insert_with(|| Markdown::new(size, self.coloured));
        let shown = markdown.resize(size) + &markdown.push(text);
        let holds_back = markdown.holds_back();
        inner.doings.table(holds_back);
        self.put(inner, &shown);
    }

    /// Writes where the cursor stands, and the footer below it.
    pub(super) fn put(&self, inner: &mut Inner, text: &str) {
        if !self.moves {
            return print(text);
        }
        let size = size();
        let answer = inner.markdown.as_mut().filter(|_| text.is_empty());
        let anew = answer.map(|markdown| markdown.resize(size)).unwrap_or_default();
        let question = inner.question();
        let footer = Footer {
            working: inner.doings.working(),
            waiting: inner.queue.texts(),
            asked: question.map(|asked| asked.about.as_str()),
            typed: Some(&inner.typed).filter(|typed| question.is_some() || !typed.text.is_empty()),
        };
        let column = inner.markdown.as_ref().map_or(0, Markdown::column);
        let footer = footer.draw(column, size);
        let footer = if self.coloured { footer } else { without_styles(&footer) };
        let clear = if inner.footed { "\x1b[J" } else { "" };
        inner.footed = !footer.is_empty();
        if !(clear.is_empty() && anew.is_empty() && text.is_empty() && footer.is_empty()) {
            print(&format!("{BEGIN}{clear}{anew}{text}{footer}{END}"));
        }
    }
}

/// A word beside the matter, as it looks.
pub(super) fn dim(text: &str) -> String {
    format!("{DIM}{}{DIM:#}", lines(text))
}

/// Whether somebody wants colours.
pub(super) fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The size of the screen; where the cursor moves, one that says nothing is taken for the smallest
/// usual one.
fn size() -> Size {
    let (columns, rows) = show::size().unwrap_or((80, 24));
    Size { columns, rows }
}

/// Takes out the codes for styles; what moves the cursor stays.
fn without_styles(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let behind = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match behind.strip_prefix('m') {
            Some(rest) => out += rest,
            None => out += &format!("\x1b[{part}"),
        }
    }
    out
}

/// Whoever closed the pipe does not want the rest.
pub(super) fn print(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_styles_the_cursor_still_moves() {
        let text = format!("\n{DIM}a{DIM:#} {RED}b{RED:#}\x1b[2A\r\x1b[12C");
        assert_eq!(without_styles(&text), "\na b\x1b[2A\r\x1b[12C");
    }
}
