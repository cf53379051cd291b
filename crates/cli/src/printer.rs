//! Prints a turn as it happens: on a terminal as the chat does, else the answer to standard output
//! and notices to standard error, or all of it as JSON.

use std::convert::Infallible;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use waterline_agent::changes::FileDiff;
use waterline_agent::tool::Capability;
use waterline_agent::{
    ApprovalReply, ApprovalRequest, Approver, Ending, Event, Observer, Outcome, Question, Source,
};
use waterline_provider::answer::Delta;
use waterline_session::{Event as CallEvent, LiveSession};

use crate::error::describe;
use crate::show::{call_note, handed_off, lines, odd, refusal, remembered, truncate, turn_notice};
use crate::terminal::asking::Asked;
use crate::terminal::{
    DIFF_LINES, Keyboard, Screen, Typed, asking, changed_files, counts, forget_typed, rows_of,
};
use crate::text;

/// Columns shown of a tool call.
const CALL: usize = 100;

/// The result of a call that needs approval without a terminal. The model reads it.
const NO_TERMINAL: &str = "no one is available to approve it; the user can start with --yes, \
                           which approves all calls except critical ones, commands without a \
                           sandbox, and protected paths";

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
        let screen = has_screen.then(|| Arc::new(Screen::new()));
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

    /// Prints the session and the model.
    pub fn begin(&self, live: &LiveSession, is_new: bool) {
        let id = live.session().id.as_str();
        let model = live.model().name.as_str();
        if self.json {
            print(&json!({"event": "session", "session": id, "model": model}));
        } else if let Some(screen) = self.screen.as_ref().filter(|_| is_new) {
            screen.print_note(&text!("run-session", id = id, model = lines(model)));
        } else if is_new {
            anstream::eprintln!("{}", text!("run-session", id = id, model = lines(model)));
        }
    }

    /// Reports that the turn failed. Without JSON, `main` prints the error.
    pub fn failed(&self, session: &str, error: &anyhow::Error) {
        if self.json {
            print(&json!({"event": "error", "session": session, "message": describe(error)}));
        } else {
            self.break_line();
        }
    }

    /// Prints a notice.
    pub fn note(&self, text: &str) {
        if self.json {
            print(&json!({"event": "notice", "text": text}));
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
        let usage = &outcome.usage;
        let (ending, why) = match &outcome.ending {
            Ending::Done | Ending::HandOff { .. } => ("end", None),
            Ending::Limit(why) => ("limit", Some(why.to_string())),
            Ending::Halted(why) => ("halted", Some(why.to_string())),
            Ending::Waiting(_) => ("waiting", odd(outcome, &live.session().id)),
            _ => ("halted", None),
        };
        let line = json!({
            "event": "answer",
            "session": live.session().id,
            "model": live.model().name,
            "text": outcome.text,
            "stop": ending,
            "why": why,
            "steps": outcome.steps,
            "prompt_tokens": usage.prompt(),
            "cached_tokens": usage.cache_read,
            "output_tokens": usage.output,
            "window": live.window(),
            "level": live.level().to_string(),
            "folds": live.generation().number,
        });
        writeln!(std::io::stdout(), "{line}")?;
        Ok(())
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
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
        anstream::eprint!("{text} ");
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
            if !is_internal(event)
                && let Ok(mut line) = serde_json::to_value(event)
            {
                add_source(&mut line, source);
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
                    let cause = text.lines().next().unwrap_or_default();
                    let failed = text!("run-failed", name = name.as_str(), cause = cause);
                    self.note(&truncate(&failed, CALL));
                }
                self.show_changes(id, info.capability, changes);
            }
            Event::Refused { refused, .. } => {
                refused.iter().for_each(|refused| self.note(&refusal(refused)))
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
                    return ApprovalReply::NoReply(NO_TERMINAL.to_owned());
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

/// Adds the session and the run to a line of JSON.
fn add_source(line: &mut Value, source: &Source) {
    if let Some(fields) = line.as_object_mut() {
        fields.entry("session").or_insert_with(|| source.session.clone().into());
        fields.entry("run").or_insert_with(|| source.run_id.clone().into());
        fields.entry("step").or_insert_with(|| source.step.into());
    }
}

/// Prints a line of JSON. A reader that closed the pipe does not want the rest.
fn print(line: &Value) {
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// Whether an event is left out of the JSON lines: the first and the last line report the same.
fn is_internal(event: &Event) -> bool {
    match event {
        Event::Begins
        | Event::Ends
        | Event::Failed { .. }
        | Event::Call(CallEvent::Raw(_) | CallEvent::Sending { .. } | CallEvent::Responds) => true,
        Event::Below { event, .. } => is_internal(event),
        _ => false,
    }
}
