//! Prints a turn as it happens: on a terminal as the chat does, else the answer to standard output
//! and notices to standard error, or all of it as JSON.

use std::convert::Infallible;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde::Serialize;
use waterline_agent::changes::FileDiff;
use waterline_agent::tool::Capability;
use waterline_agent::{
    Agent, AnswerLine, ApprovalReply, ApprovalRequest, Approver, Event, EventLine, Observer,
    Outcome, Question, RunLine, Source,
};
use waterline_provider::answer::Delta;
use waterline_session::{Event as CallEvent, LiveSession};

use crate::error::describe;
use crate::show::rows::wrap_styled;
use crate::show::{
    Failure, Granting, call_note, failure, handed_off, lines, odd, refusals, remembered, room,
    truncate, turn_notice,
};
use crate::terminal::asking::Asked;
use crate::terminal::{
    DIFF_LINES, Keyboard, Screen, Typed, asking, changed_files, counts, forget_typed, rows_of,
};
use crate::text;

/// Columns shown of a tool call.
const CALL: usize = 100;

/// Maximum length of the line that says why a call failed. It may end with a hint.
const CAUSE: usize = 400;

/// The result of a call that needs approval without a terminal. The model reads it.
const NO_TERMINAL: &str = "no one is available to approve it; the user can start with --yes, \
                           which approves all calls except critical ones, commands without a \
                           sandbox, and protected paths";

/// The result of such a call if the user started with `--yes`, or if `--yes` would not help.
const NOT_COVERED: &str = "no one is available to approve it, and --yes does not cover critical \
                           calls, commands without a sandbox, or protected paths";

/// Prints a turn for a pipe, a file or a program; it also works on a terminal.
pub struct Printer {
    json: bool,
    yes: bool,
    /// Prints the answer as it arrives; otherwise once, when it is complete.
    streams: bool,
    /// Part of an answer is on the current line.
    is_in_line: AtomicBool,
    /// The screen, if people read the output as it arrives.
    screen: Option<Arc<Screen>>,
    /// The ids of calls whose changes were shown before they were approved.
    shown: Mutex<Vec<String>>,
}

impl Printer {
    /// Creates a printer. `json` prints events for programs; `yes` approves every call that needs
    /// approval, except critical ones.
    pub fn new(json: bool, yes: bool, streams: bool) -> Self {
        let streams = streams && std::io::stdout().is_terminal();
        let has_screen = streams && !json && std::io::stderr().is_terminal();
        let screen = has_screen.then(|| Arc::new(Screen::new(Granting::Flags)));
        Self {
            json,
            yes,
            streams,
            is_in_line: AtomicBool::new(false),
            shown: Mutex::default(),
            screen,
        }
    }

    /// Shows the progress of a turn and reads the keyboard, if there is a screen. Never returns.
    pub async fn attend(&self) -> Infallible {
        let Some(screen) = &self.screen else { return std::future::pending().await };
        let listener = Arc::clone(screen);
        let _keyboard =
            Keyboard::listen(screen.has_footer(), screen.typing(), move |typed| match typed {
                Typed::Draft(_) => listener.draft_changed(),
                Typed::Line(line) => listener.submit(&line),
                Typed::End => listener.close_input(),
            });
        screen.animate().await;
        std::future::pending().await
    }

    /// Prints the session, the model and where the agent works.
    pub fn begin(&self, agent: &Agent, is_new: bool) {
        let live = agent.live();
        let id = live.session().id.as_str();
        let model = live.model().name.as_str();
        let directory = agent.workspace().working_directory().display().to_string();
        if self.json {
            print(&RunLine::Session { session: id, model, directory: &directory });
            return;
        }
        if !is_new {
            return;
        }
        let text =
            text!("run-session", id = id, model = lines(model), directory = lines(&directory));
        match &self.screen {
            Some(screen) => screen.print_note(&text),
            None => anstream::eprintln!("{text}"),
        }
    }

    /// Reports that the turn failed. Without JSON, `main` prints the error.
    pub fn failed(&self, session: &str, error: &anyhow::Error) {
        if self.json {
            print(&RunLine::Error { session, message: &describe(error) });
        } else {
            self.break_line();
        }
    }

    /// Prints a notice.
    pub fn note(&self, text: &str) {
        if self.json {
            print(&RunLine::Notice { text });
            return;
        }
        if let Some(screen) = &self.screen {
            return screen.print_note(text);
        }
        self.break_line();
        anstream::eprintln!("waterline: {}", lines(text));
    }

    /// Prints the end of the turn.
    pub fn end(&self, live: &LiveSession, outcome: &Outcome) -> Result<()> {
        if !self.json {
            self.break_line();
            if !self.streams && !outcome.text.is_empty() {
                // A pipe gets the answer unchanged. On a terminal it must not contain control
                // characters.
                let end = if outcome.text.ends_with('\n') { "" } else { "\n" };
                let is_terminal = std::io::stdout().is_terminal();
                let text = if is_terminal { lines(&outcome.text) } else { outcome.text.clone() };
                write!(std::io::stdout(), "{text}{end}")?;
                std::io::stdout().flush()?;
            }
            if let Some(text) = odd(outcome, &live.session().id) {
                self.note(&text);
            }
            return Ok(());
        }
        let waiting = odd(outcome, &live.session().id);
        let line = RunLine::Answer(AnswerLine::new(live, outcome, waiting));
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&line)?)?;
        Ok(())
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show_failure(&self, name: &str, failure: &Failure) {
        let cause = failure.cause.as_str();
        self.note(&truncate(&text!("run-failed", name = name, cause = cause), CAUSE));
        for line in &failure.lines {
            self.note(&format!("  {}", truncate(line, CALL)));
        }
    }

    /// Shows on a terminal what a call changed, unless it was shown before.
    fn show_changes(&self, id: &str, capability: Capability, changes: &[FileDiff]) {
        if !std::io::stderr().is_terminal() || self.shown().iter().any(|shown| shown == id) {
            return;
        }
        self.break_line();
        if capability != Capability::Write {
            changed_files(changes).iter().for_each(|files| anstream::eprintln!("  {files}"));
            return;
        }
        for diff in changes {
            let (rows, hidden) = rows_of(diff, DIFF_LINES);
            let counted = counts(diff.added, diff.removed);
            anstream::eprintln!("  {} {counted}{rows}", lines(&diff.path));
            if hidden > 0 {
                anstream::eprintln!("  {}", text!("call-more-lines", count = hidden));
            }
        }
    }

    fn break_line(&self) {
        if let Some(screen) = &self.screen {
            screen.end_turn();
        }
        if !self.json && self.is_in_line.swap(false, Ordering::Relaxed) {
            anstream::println!();
        }
    }

    /// Asks on the terminal, if there is one.
    async fn ask_line(&self, text: &str) -> Option<String> {
        if self.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return None;
        }
        self.break_line();
        forget_typed();
        anstream::eprint!("{} ", wrap_styled(text, room(1)));
        let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
        let _keyboard = Keyboard::listen(false, Arc::default(), move |typed| match typed {
            Typed::Draft(_) => {}
            Typed::Line(line) => drop(sender.send(Some(line))),
            Typed::End => drop(sender.send(None)),
        });
        lines.recv().await.flatten()
    }
}

impl Observer for Printer {
    fn on_event(&self, source: &Source, event: &Event) {
        if self.json {
            if let Some(line) = EventLine::new(source, event) {
                print(&line);
            }
            return;
        }
        if let Some(screen) = &self.screen {
            return screen.on_event(source, event);
        }
        match event {
            Event::Call(CallEvent::Delta(Delta::Text(_))) if !self.streams => {}
            Event::Call(CallEvent::Delta(Delta::Text(text))) => {
                anstream::print!("{}", lines(text));
                drop(std::io::stdout().flush());
                self.is_in_line.store(true, Ordering::Relaxed);
            }
            Event::Call(event) => {
                if let Some(text) = call_note(event) {
                    self.note(&text);
                }
            }
            Event::ToolBegins { name, arguments, .. } => {
                self.note(&truncate(&format!("{name} {arguments}"), CALL))
            }
            Event::ToolEnds { id, name, text, failed, info, changes, .. } => {
                if *failed {
                    self.show_failure(name, &failure(info.capability, text));
                }
                self.show_changes(id, info.capability, changes);
            }
            Event::Refused { refused, .. } => {
                refusals(refused, Granting::Flags).iter().for_each(|line| self.note(line))
            }
            Event::HandedOff { to, session } => self.note(&handed_off(to, session)),
            Event::Steered(text) => self.note(text),
            Event::Notice(notice) => self.note(&turn_notice(notice)),
            Event::Remembered { text, replaced, is_lasting } => {
                self.note(&remembered(text, replaced.as_deref(), *is_lasting))
            }
            Event::RuleLeftOut { text } => {
                self.note(&text!("memory-rule-left-out", text = text.as_str()))
            }
            Event::HookFailed { middleware, hook, why } => {
                let name = format!("{middleware}: {hook}");
                self.note(&text!("run-failed", name = name, cause = why.as_str()));
            }
            // The text of a sub-agent is not the answer; its calls are shown.
            Event::Below { context_id, event } => match &**event {
                Event::ToolBegins { name, arguments, .. } => {
                    self.note(&truncate(&format!("{context_id}: {name} {arguments}"), CALL))
                }
                Event::ToolEnds { id, info, changes, .. } => {
                    self.show_changes(id, info.capability, changes);
                }
                Event::HookFailed { .. } => self.on_event(source, event),
                _ => {}
            },
            _ => {}
        }
    }
}

impl Approver for Printer {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            if self.yes && request.in_advance {
                return ApprovalReply::Allow;
            }
            if let Some(screen) = self.screen.as_ref().filter(|_| std::io::stdin().is_terminal()) {
                return screen.approve(request).await;
            }
            let Asked { mut text, question } = asking::request(request);
            loop {
                let Some(line) = self.ask_line(&text).await else {
                    let is_covered = request.in_advance && !self.yes;
                    let why = if is_covered { NO_TERMINAL } else { NOT_COVERED };
                    return ApprovalReply::NoReply(why.to_owned());
                };
                if request.info.diff.is_some() {
                    self.shown().push(request.call_id.clone());
                }
                if asking::is_view(&line) {
                    text = asking::view(request).text;
                    continue;
                }
                match asking::reply(line) {
                    Some(reply) => return reply,
                    None => text.clone_from(&question),
                }
            }
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if let Some(screen) = self.screen.as_ref().filter(|_| std::io::stdin().is_terminal()) {
                return screen.ask(question).await;
            }
            let line = self.ask_line(&asking::question(question)).await?;
            asking::answer(question, line)
        })
    }

    fn poll_steering(&self) -> Vec<String> {
        self.screen.as_ref().map(|screen| screen.poll_steering()).unwrap_or_default()
    }
}

/// Prints a line of JSON. A reader that closed the pipe does not want the rest.
fn print(line: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(line) {
        drop(writeln!(std::io::stdout(), "{line}"));
    }
}
