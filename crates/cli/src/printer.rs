//! What happens in a turn, printed as it happens: the answer to standard output, everything else
//! beside it, or all of it as JSON.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use waterline_agent::{
    ApprovalReply, ApprovalRequest, Approver, Ending, Event, Observer, Outcome, Question,
};
use waterline_provider::answer::Delta;
use waterline_session::{Event as CallEvent, LiveSession};

use crate::hint::with_hint;
use crate::show::{call_note, cut, handed_off, lines, odd};
use crate::terminal::{Keyboard, Typed, asking, forget_typed};

/// How much of a call is shown on its line.
const CALL: usize = 100;

/// Prints a turn without a terminal in mind.
pub struct Printer {
    json: bool,
    yes: bool,
    /// The answer is shown as it comes; otherwise it is printed once, when it is whole.
    streams: bool,
    /// Text was printed that the next try begins anew.
    said: AtomicBool,
}

impl Printer {
    /// `json` for programs; `yes` agrees to every call that would be asked about, except critical
    /// ones.
    pub fn new(json: bool, yes: bool, streams: bool) -> Self {
        let streams = streams && std::io::stdout().is_terminal();
        Self { json, yes, streams, said: AtomicBool::new(false) }
    }

    /// Which session, and which model.
    pub fn begin(&self, live: &LiveSession, is_new: bool) {
        let (id, model) = (&live.session().id, &live.model().name);
        if self.json {
            print(&json!({"event": "session", "session": id, "model": model}));
        } else if is_new {
            anstream::eprintln!("session {id}, model {}", lines(model));
        }
    }

    /// Why there is no answer.
    pub fn failed(&self, session: &str, error: &anyhow::Error) {
        if self.json {
            print(&json!({"event": "error", "session": session, "message": with_hint(error)}));
        } else {
            self.break_line();
        }
    }

    /// A word beside the answer.
    pub fn note(&self, text: &str) {
        if self.json {
            print(&json!({"event": "notice", "text": text}));
            return;
        }
        self.break_line();
        anstream::eprintln!("waterline: {}", lines(text));
    }

    /// How it ended.
    pub fn end(&self, live: &LiveSession, outcome: &Outcome) -> Result<()> {
        if !self.json {
            self.break_line();
            if !self.streams && !outcome.text.is_empty() {
                // For whoever reads the pipe: the answer, whole, once, and as it is. A terminal
                // must not be steered by it.
                let end = if outcome.text.ends_with('\n') { "" } else { "\n" };
                let is_shown = std::io::stdout().is_terminal();
                let text = if is_shown { lines(&outcome.text) } else { outcome.text.clone() };
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
        if !self.json && self.said.swap(false, Ordering::Relaxed) {
            anstream::println!();
        }
    }

    /// Asks on the terminal, where there is one.
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
    fn on_event(&self, event: &Event) {
        if self.json {
            if !is_internal(event)
                && let Ok(line) = serde_json::to_value(event)
            {
                print(&line);
            }
            return;
        }
        match event {
            Event::Call(CallEvent::Delta(Delta::Text(_))) if !self.streams => {}
            Event::Call(CallEvent::Delta(Delta::Text(text))) => {
                anstream::print!("{}", lines(text));
                drop(std::io::stdout().flush());
                self.said.store(true, Ordering::Relaxed);
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
                self.note(&cut(
                    &format!("{name} failed: {}", text.lines().next().unwrap_or_default()),
                    CALL,
                ));
            }
            Event::HandedOff { to, session } => self.note(&handed_off(to, session)),
            Event::Steered(text) | Event::Notice(text) => self.note(text),
            Event::HookFailed { middleware, hook, why } => {
                self.note(&format!("{middleware}: {hook} failed: {why}"))
            }
            // What a sub-agent says is not the answer; its calls are shown.
            Event::Below { context_id, event } => match &**event {
                Event::ToolBegins { name, arguments, .. } => {
                    self.note(&cut(&format!("{context_id}: {name} {arguments}"), CALL))
                }
                Event::HookFailed { .. } => self.on_event(event),
                _ => {}
            },
            _ => {}
        }
    }
}

impl Approver for Printer {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            // What nobody may agree to once and for all is not agreed to beforehand.
            if self.yes && request.may_always {
                return ApprovalReply::Allow;
            }
            let (mut text, asked) = asking::request(request);
            loop {
                let Some(line) = self.ask_line(&text).await else {
                    let why =
                        "nobody is there to agree to it; --yes agrees to all but critical calls";
                    return ApprovalReply::NoReply(why.to_owned());
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

/// Whoever closed the pipe does not want the rest.
fn print(line: &Value) {
    drop(writeln!(std::io::stdout(), "{line}"));
}

/// Whether an event is left out of the JSON lines: the first and the last line say the same.
fn is_internal(event: &Event) -> bool {
    match event {
        Event::Begins | Event::Ends | Event::Failed { .. } | Event::Call(CallEvent::Raw(_)) => true,
        Event::Below { event, .. } => is_internal(event),
        _ => false,
    }
}
