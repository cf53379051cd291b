//! Prints a turn as it happens: the answer to standard output and notices to standard error, or all
//! of it as JSON.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use waterline_agent::{
    ApprovalReply, ApprovalRequest, Approver, Ending, Event, Observer, Outcome, Question, Source,
};
use waterline_provider::answer::Delta;
use waterline_session::{Event as CallEvent, LiveSession};

use crate::error::describe;
use crate::show::{call_note, cut, handed_off, lines, odd};
use crate::terminal::{Keyboard, Typed, asking, forget_typed};
use crate::text;

/// Columns shown of a tool call.
const CALL: usize = 100;

/// The result of a call that needs approval without a terminal. The model reads it.
const NO_TERMINAL: &str =
    "no one is available to approve it; --yes approves all but critical calls";

/// Prints a turn for a pipe, a file or a program; it also works on a terminal.
pub struct Printer {
    json: bool,
    yes: bool,
    /// Prints the answer as it arrives; otherwise once, when it is complete.
    streams: bool,
    /// Part of an answer is on the current line.
    is_in_line: AtomicBool,
}

impl Printer {
    /// Creates a printer. `json` prints events for programs; `yes` approves every call that needs
    /// approval, except critical ones.
    pub fn new(json: bool, yes: bool, streams: bool) -> Self {
        let streams = streams && std::io::stdout().is_terminal();
        Self { json, yes, streams, is_in_line: AtomicBool::new(false) }
    }

    /// Prints the session and the model.
    pub fn begin(&self, live: &LiveSession, is_new: bool) {
        let id = live.session().id.as_str();
        let model = live.model().name.as_str();
        if self.json {
            print(&json!({"event": "session", "session": id, "model": model}));
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
            Ending::Limit(why) => ("limit", Some(why.clone())),
            Ending::Halted(why) => ("halted", Some(why.clone())),
            Ending::Waiting(_) => ("waiting", odd(outcome, &live.session().id)),
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

    fn break_line(&self) {
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
            Typed::Begun(_) => {}
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
                self.note(&cut(&format!("{name} {arguments}"), CALL))
            }
            Event::ToolEnds { name, text, failed: true, .. } => {
                let cause = text.lines().next().unwrap_or_default();
                self.note(&cut(&text!("run-failed", name = name.as_str(), cause = cause), CALL));
            }
            Event::HandedOff { to, session } => self.note(&handed_off(to, session)),
            Event::Steered(text) | Event::Notice(text) => self.note(text),
            Event::HookFailed { middleware, hook, why } => {
                let name = format!("{middleware}: {hook}");
                self.note(&text!("run-failed", name = name, cause = why.as_str()));
            }
            // The text of a sub-agent is not the answer; its calls are shown.
            Event::Below { context_id, event } => match &**event {
                Event::ToolBegins { name, arguments, .. } => {
                    self.note(&cut(&format!("{context_id}: {name} {arguments}"), CALL))
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
            // A call that cannot be approved for good is not approved in advance.
            if self.yes && request.may_always {
                return ApprovalReply::Allow;
            }
            let (mut text, asked) = asking::request(request);
            loop {
                let Some(line) = self.ask_line(&text).await else {
                    return ApprovalReply::NoReply(NO_TERMINAL.to_owned());
                };
                match asking::word(line) {
                    Some(word) => return word,
                    None => text.clone_from(&asked),
                }
            }
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let line = self.ask_line(&asking::question(question)).await?;
            asking::answer(question, line)
        })
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
        Event::Begins | Event::Ends | Event::Failed { .. } | Event::Call(CallEvent::Raw(_)) => true,
        Event::Below { event, .. } => is_internal(event),
        _ => false,
    }
}
