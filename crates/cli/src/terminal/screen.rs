//! A turn as somebody sees it on a terminal: the answer as it streams in, a line for each call, a sign of life meanwhile. Without a
//! terminal the same words, plain.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use futures_util::future::BoxFuture;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::oneshot;
use waterline_agent::{Event, Person, Question, Request, Word};
use waterline_provider::answer::Delta;
use waterline_session::Event as CallEvent;

use super::markdown::Markdown;
use crate::lang::say;
use crate::show::events::call_note;
use crate::show::{cut, lines};

const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// How many lines of a failure are shown at once.
const FAILURE_LINES: usize = 4;

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
    /// Whether codes and cursor movements are understood.
    styled: bool,
    /// Whether somebody can type while the agent works.
    listens: bool,
    /// Who asks waits for whoever asked before.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Inner {
    markdown: Option<Markdown>,
    /// Words of the answer stand on the line.
    open_line: bool,
    spinner: Option<ProgressBar>,
    begun: Vec<(String, String, String)>,
    calls: Vec<Folded>,
    asked: Option<oneshot::Sender<String>>,
    steers: VecDeque<String>,
    /// Commands that were typed while the agent worked.
    later: Vec<String>,
    /// Nobody types any more.
    gone: bool,
}

impl Screen {
    /// A screen; `styled` where it is a terminal that takes codes.
    pub fn new(styled: bool, listens: bool) -> Self {
        Self { inner: Mutex::default(), styled, listens, asking: tokio::sync::Mutex::default() }
    }

    /// A line for the person.
    pub fn say(&self, text: &str) {
        let mut inner = self.lock();
        self.quiet(&mut inner);
        anstream::println!("{}", lines(text));
    }

    /// A line that may hold codes of ours.
    pub fn show(&self, text: &str) {
        let mut inner = self.lock();
        self.quiet(&mut inner);
        anstream::println!("{text}");
    }

    /// A word beside the matter.
    pub fn note(&self, text: &str) {
        self.show(&format!("{DIM}{}{DIM:#}", lines(text)));
    }

    /// The call of a number, or the last one.
    pub fn folded(&self, number: Option<usize>) -> Option<Folded> {
        let inner = self.lock();
        let at = number.unwrap_or(inner.calls.len());
        at.checked_sub(1).and_then(|at| inner.calls.get(at).cloned())
    }

    /// A line that was typed while the agent works: an answer where somebody waits for one, else something to steer it with.
    pub fn typed(&self, line: &str) {
        let mut inner = self.lock();
        match inner.asked.take().filter(|asked| !asked.is_closed()) {
            Some(asked) => drop(asked.send(line.to_owned())),
            None if line.is_empty() => {}
            None => inner.steers.push_back(line.to_owned()),
        }
    }

    /// A command that was typed while the agent works; it is carried out behind the turn.
    pub fn later(&self, line: &str) {
        self.lock().later.push(line.to_owned());
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

    /// Ends whatever is unfinished on the screen.
    pub fn settle(&self) {
        let mut inner = self.lock();
        self.quiet(&mut inner);
        inner.asked = None;
        inner.gone = false;
        inner.begun.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the cursor stand on a free line.
    fn quiet(&self, inner: &mut Inner) {
        if let Some(spinner) = inner.spinner.take() {
            spinner.finish_and_clear();
        }
        if let Some(mut markdown) = inner.markdown.take() {
            print(&markdown.finish());
        }
        if std::mem::take(&mut inner.open_line) && !self.styled {
            print("\n");
        }
    }

    /// A sign of life.
    fn wait(&self, inner: &mut Inner, about: &str) {
        self.quiet(inner);
        if !self.styled {
            return;
        }
        let spinner = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        spinner.set_style(style);
        spinner.set_message(cut(about, 100));
        spinner.enable_steady_tick(Duration::from_millis(120));
        inner.spinner = Some(spinner);
    }

    fn write(&self, inner: &mut Inner, text: &str) {
        if let Some(spinner) = inner.spinner.take() {
            spinner.finish_and_clear();
        }
        inner.open_line = true;
        if !self.styled {
            return print(&lines(text));
        }
        let columns = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        let markdown = inner.markdown.get_or_insert_with(|| Markdown::new(columns));
        let shown = markdown.push(text);
        print(&shown);
    }

    /// A call is done: one line, which `/unfold` unfolds.
    fn called(&self, inner: &mut Inner, call: Folded, failed: bool, took: Duration) {
        self.quiet(inner);
        inner.calls.push(call.clone());
        let number = inner.calls.len();
        let Folded { name, arguments, text } = call;
        let (style, mark) = if failed { (RED, "✗") } else { (GREEN, "●") };
        let first = text.lines().next().unwrap_or_default();
        let more = text.lines().count().saturating_sub(1);
        let more = if more > 0 { format!(" (+{more})") } else { String::new() };
        let line = cut(&format!("{name} {} → {first}", brief(&arguments)), 100);
        anstream::println!("{style}{mark}{style:#} {line}{DIM}{more} {:.1} s [{number}]{DIM:#}", took.as_secs_f64());
        if failed {
            for line in text.lines().skip(1).take(FAILURE_LINES) {
                anstream::println!("  {DIM}{}{DIM:#}", cut(line, 110));
            }
        }
    }

    fn hear_at(&self, inner: &mut Inner, event: &Event, below: Option<&str>) {
        let at = below.map(|context| format!("{context}: ")).unwrap_or_default();
        match event {
            Event::Asks(_) => self.wait(inner, &format!("{at}{}", say("thinking", "思考中"))),
            // What a sub-agent says is for its parent, not for the person.
            Event::Call(CallEvent::Delta(Delta::Text(text))) if below.is_none() => self.write(inner, text),
            Event::Call(event) => {
                if let Some(text) = call_note(event) {
                    self.quiet(inner);
                    anstream::println!("{DIM}{at}{}{DIM:#}", lines(&text));
                }
            }
            Event::ToolBegins { id, name, arguments } => {
                inner.begun.push((id.clone(), name.clone(), arguments.clone()));
                self.wait(inner, &format!("{at}{name} {}", brief(arguments)));
            }
            Event::ToolEnds { id, name, text, failed, took } => {
                let begun = inner.begun.iter().position(|(known, ..)| known == id).map(|at| inner.begun.remove(at));
                let arguments = begun.map(|(_, _, arguments)| arguments).unwrap_or_default();
                let call = Folded { name: format!("{at}{name}"), arguments, text: text.clone() };
                self.called(inner, call, *failed, *took);
            }
            Event::Todos(todos) => {
                self.quiet(inner);
                for todo in todos {
                    anstream::println!("  {}", lines(&todo.line()));
                }
            }
            Event::Steered(text) | Event::Notice(text) => {
                self.quiet(inner);
                anstream::println!("{DIM}{at}{}{DIM:#}", lines(text));
            }
            Event::HookFailed { middleware, hook, why } => {
                self.quiet(inner);
                anstream::println!("{RED}{at}{middleware}: {hook} {}: {}{RED:#}", say("failed", "失败"), lines(why));
            }
            Event::Below { context_id, event } => self.hear_at(inner, event, Some(context_id)),
            Event::Ends if below.is_none() => self.quiet(inner),
            Event::Begins | Event::Answered { .. } | Event::Failed(_) | Event::Ends => {}
        }
    }

    /// Asks for a line; none where nobody can answer, or the turn is given up.
    async fn ask(&self, text: &str) -> Option<String> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut inner = self.lock();
            self.quiet(&mut inner);
            anstream::print!("{} ", lines(text));
            drop(std::io::stdout().flush());
            if !self.listens || inner.gone {
                anstream::println!();
                return None;
            }
            inner.asked = Some(sender);
        }
        receiver.await.ok()
    }
}

impl Person for Screen {
    fn hear(&self, event: &Event) {
        self.hear_at(&mut self.lock(), event, None);
    }

    fn approve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Word> {
        Box::pin(async move {
            let always = if request.may_always {
                say(" / [a]lways for this session (a command: just this one)", " / 本会话总是 [a]（命令：仅此命令）")
            } else {
                ""
            };
            let asked = say(
                format!("[y]es / [n]o{always}; anything else is a no with that reason:"),
                format!("是 [y] / 否 [n]{always}；其他内容视为拒绝的理由："),
            );
            let who = request.context_id.as_ref().map(|context| format!("{context}: ")).unwrap_or_default();
            let mut text = format!("{who}{} {}\n{}\n{asked}", request.tool, pretty(&request.arguments), request.reason);
            let _one = self.asking.lock().await;
            loop {
                let Some(line) = self.ask(&text).await else {
                    return Word::No(Some(say("nobody is there to agree to it", "没有人可以批准").to_owned()));
                };
                match Word::read(&line) {
                    Some(word) => return word,
                    None if line.is_empty() => text.clone_from(&asked),
                    // Whoever says something else says why not.
                    None => return Word::No(Some(line)),
                }
            }
        })
    }

    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let mut text = question.question.clone();
            for (at, choice) in question.choices.iter().enumerate() {
                text.push_str(&format!("\n  {}. {choice}", at + 1));
            }
            text.push_str(say("\nanswer (empty: later):", "\n请回答（留空：稍后）："));
            let _one = self.asking.lock().await;
            let line = self.ask(&text).await?;
            let chosen =
                line.parse::<usize>().ok().and_then(|number| question.choices.get(number.checked_sub(1)?).cloned());
            Some(chosen.unwrap_or(line)).filter(|line| !line.is_empty())
        })
    }

    fn steering(&self) -> Vec<String> {
        self.lock().steers.drain(..).collect()
    }
}

/// The values of a call, without the JSON around them.
fn brief(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(arguments) else { return arguments.to_owned() };
    let word = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields.values().map(word).collect::<Vec<_>>().join(" ").replace('\n', " ")
}

/// A call as somebody should see it who has to agree to it: whole.
fn pretty(arguments: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(arguments);
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| arguments.to_owned())
}

/// Whoever closed the pipe does not want the rest.
fn print(text: &str) {
    let mut out = std::io::stdout();
    drop(out.write_all(text.as_bytes()));
    drop(out.flush());
}
