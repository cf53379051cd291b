//! The screen as the front end of an agent: it shows what happens, asks for approval and answers,
//! and passes on what is typed.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use waterline_agent::tool::{CallInfo, Capability};
use waterline_agent::{ApprovalReply, ApprovalRequest, Approver, Event, Observer, Question};
use waterline_provider::answer::Delta;
use waterline_session::Event as CallEvent;

use super::arguments::{outcome, row};
use super::asking;
use super::calls::Folded;
use super::screen::{GREEN, Inner, OpenQuestion, RED, Screen, dim};
use crate::lang::say;
use crate::show::{DIM, call_note, cut, handed_off, lines, width};

/// How much of a call is shown beside the question about it.
const CALL: usize = 48;

/// How many lines of a failure are shown at once.
const FAILURE_LINES: usize = 4;

impl Observer for Screen {
    fn on_event(&self, event: &Event) {
        self.show_event(&mut self.lock(), event, None);
    }
}

impl Approver for Screen {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            // A call that is refused never begins.
            self.lock().calls.known(
                request.context_id.as_deref(),
                &request.call_id,
                &request.tool,
                &request.arguments,
            );
            let (text, _) = asking::request(request);
            let who = request
                .context_id
                .as_ref()
                .map(|context| format!("{context}: "))
                .unwrap_or_default();
            let call = cut(&format!("{who}{} {}", request.tool, request.info.summary), CALL);
            let about = format!("{call} [y/n] {}", request.reason);
            let said = self.ask_line(&text, &about, true).await.and_then(asking::word);
            said.unwrap_or_else(|| {
                ApprovalReply::NoReply(
                    say("nobody is there to agree to it", "没有人可以批准").to_owned(),
                )
            })
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let text = asking::question(question);
            let line = self.ask_line(&text, &question.question, false).await?;
            asking::answer(question, line)
        })
    }

    fn poll_steering(&self) -> Vec<String> {
        self.lock().queue.heard()
    }
}

impl Screen {
    fn show_event(&self, inner: &mut Inner, event: &Event, who: Option<&str>) {
        let at = who.map(|context| format!("{context}: ")).unwrap_or_default();
        match event {
            Event::Asks(_) => {
                if who.is_none() {
                    // Whatever was left is over, also what nobody said the end of.
                    inner.doings.forget();
                }
                inner.calls.forget_open(who);
                inner.doings.asks(who);
                self.wait(inner);
            }
            Event::Call(CallEvent::Delta(delta)) => self.show_delta(inner, delta, who),
            Event::Call(event) => {
                if let CallEvent::Again { wait, .. } = event {
                    inner.calls.forget_open(who);
                    inner.doings.rests(who, *wait);
                }
                if let Some(text) = call_note(event) {
                    self.line(inner, &dim(&format!("{at}{text}")));
                }
            }
            Event::Answered { .. } | Event::Failed { .. } => {
                inner.doings.answers(who);
                self.put(inner, "");
            }
            Event::ToolBegins { id, name, arguments, info } => {
                inner.calls.known(who, id, name, arguments);
                // A question waits for a person and does nothing itself.
                if info.capability != Capability::AskUser {
                    inner.doings.runs(who, id, format!("{name} {}", info.summary));
                }
                self.wait(inner);
            }
            Event::ToolEnds { id, name, text, failed, took, info } => {
                inner.doings.ends(who, id);
                let arguments = inner.calls.end(who, id, name);
                let call = Folded { name: format!("{at}{name}"), arguments, text: text.clone() };
                self.called(inner, info, call, *failed, *took);
            }
            Event::Todos(todos) => {
                // The result of the call that wrote them comes next.
                inner.todos = Some(todos.len());
                todos
                    .iter()
                    .for_each(|todo| self.line(inner, &format!("  {}", lines(&todo.line()))));
            }
            Event::HandedOff { to, session } => {
                self.line(inner, &dim(&format!("{at}{}", handed_off(to, session))))
            }
            Event::Steered(text) | Event::Notice(text) => {
                self.line(inner, &dim(&format!("{at}{text}")))
            }
            Event::HookFailed { middleware, hook, why } => {
                let failed = say("failed", "失败");
                self.line(
                    inner,
                    &format!("{RED}{at}{middleware}: {hook} {failed}: {}{RED:#}", lines(why)),
                );
            }
            Event::Below { context_id, event } => self.show_event(inner, event, Some(context_id)),
            Event::Ends if who.is_none() => {
                inner.doings.forget();
                self.wait(inner);
            }
            _ => {}
        }
    }

    /// More of an answer. What is not written to the screen changes the sign of life, which is
    /// drawn often enough.
    fn show_delta(&self, inner: &mut Inner, delta: &Delta, who: Option<&str>) {
        match delta {
            Delta::Text(text) if who.is_none() && !text.is_empty() => {
                inner.doings.answers(None);
                self.write(inner, text);
            }
            // What a sub-agent says is for its parent, not for the person.
            Delta::Text(_) => {}
            Delta::Thinking(text) => inner.doings.thinks(who, text.chars().count()),
            Delta::Call { at, id, name } => {
                inner.calls.writes(who, *at, id, name);
                inner.doings.writes(who, name);
            }
            Delta::Arguments { at, json } => {
                inner.calls.grows(who, *at, json);
                inner.doings.grows(who, json.chars().count());
            }
        }
    }

    /// A call is done: one line, which `/unfold` unfolds.
    fn called(
        &self,
        inner: &mut Inner,
        info: &CallInfo,
        call: Folded,
        failed: bool,
        took: Duration,
    ) {
        let number = inner.calls.keep(call.clone());
        let todos = inner.todos.take();
        let (text, failed) = outcome(info.capability, todos, &call.text, failed);
        let (style, mark) = if failed { (RED, "✗") } else { (GREEN, "●") };
        let first = text.lines().next().unwrap_or_default();
        let more = match text.lines().count().saturating_sub(1) {
            0 => String::new(),
            more => format!(" (+{more})"),
        };
        let end = format!("{more} {:.1} s [{number}]", took.as_secs_f64());
        let room = self.columns().saturating_sub(width(&end) + 3);
        let line = row(&call.name, &info.summary, first, room);
        self.line(inner, &format!("{style}{mark}{style:#} {line}{DIM}{end}{DIM:#}"));
        if failed {
            for line in text.lines().skip(1).take(FAILURE_LINES) {
                self.line(
                    inner,
                    &format!("  {}", dim(&cut(line, self.columns().saturating_sub(3)))),
                );
            }
        }
    }

    /// Asks for a line, with a text that may hold codes of ours; none where nobody can answer, or
    /// the turn is given up. As long as it is open, what it is about stands in the footer.
    async fn ask_line(&self, text: &str, about: &str, insists: bool) -> Option<String> {
        let (answer, receiver) = oneshot::channel();
        {
            let mut inner = self.lock();
            let can_answer = self.listens && !inner.gone;
            self.make_way(&mut inner);
            inner.asked =
                can_answer.then(|| OpenQuestion { answer, about: about.to_owned(), insists });
            self.line(&mut inner, text);
            inner.asked.as_ref()?;
        }
        receiver.await.ok()
    }
}
