//! The screen as the front end of an agent: it shows what happens, asks for approval and answers,
//! and passes on what is typed.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use waterline_agent::tool::Capability;
use waterline_agent::{
    ApprovalReply, ApprovalRequest, Approver, Event, Observer, Question, Source,
};
use waterline_provider::answer::Delta;
use waterline_session::Event as CallEvent;

use super::arguments::{changed_files, first_line, outcome, row};
use super::asking;
use super::calls::{FinishedCall, StoppedCall};
use super::diff::{counts, rows_of};
use super::screen::{GREEN, Inner, OpenQuestion, RED, Screen, dim};
use crate::show::{
    self, DIM, approval_reason, call_note, handed_off, lines, refusals, remembered, truncate,
    turn_notice, width,
};
use crate::text;

/// The width of a call in the footer's question.
const CALL: usize = 48;

/// The result of a call that was not approved because no one could reply. The model reads it.
const NO_REPLY: &str = "no one available to approve it";
/// Maximum number of lines of a diff shown below its call.
pub const DIFF_LINES: usize = 30;

impl Observer for Screen {
    fn on_event(&self, _: &Source, event: &Event) {
        self.show_event(&mut self.lock(), event, None);
    }
}

impl Approver for Screen {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            // If the call is refused, no event reports its arguments.
            self.lock().calls.set_arguments(
                request.context_id.as_deref(),
                &request.call_id,
                &request.tool,
                &request.arguments,
            );
            let agent = request.context_id.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
            let call = truncate(&format!("{agent}{} {}", request.tool, request.info.summary), CALL);
            let about = format!("{call} [y/n] {}", approval_reason(&request.reason));
            if request.info.diff.is_some() {
                self.lock().calls.set_shown(
                    request.context_id.as_deref(),
                    &request.call_id,
                    &request.tool,
                );
            }
            let mut text = asking::request(request).text;
            loop {
                let Some(line) = self.ask_line(&text, &about, true).await else {
                    return ApprovalReply::NoReply(NO_REPLY.to_owned());
                };
                if asking::is_view(&line) {
                    text = asking::view(request).text;
                } else if let Some(reply) = asking::reply(line) {
                    return reply;
                }
            }
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let text = asking::question(question);
            // The question itself is on the screen.
            let line = self.ask_line(&text, "", false).await?;
            asking::answer(question, line)
        })
    }

    fn poll_steering(&self) -> Vec<String> {
        self.lock().queue.take_messages()
    }
}

impl Screen {
    fn show_event(&self, inner: &mut Inner, event: &Event, agent: Option<&str>) {
        let prefix = prefix_of(agent);
        match event {
            Event::Asks(_) => {
                if agent.is_none() {
                    // Whatever was going on is over, even if its end was not reported.
                    inner.activities.clear();
                }
                inner.calls.drop_open(agent);
                inner.activities.start_model(agent);
                self.show_activity(inner);
            }
            Event::Call(event) => self.show_call_event(inner, event, agent),
            Event::Answered { .. } | Event::Failed { .. } => {
                inner.activities.end_model(agent);
                self.draw(inner, "");
            }
            Event::ToolBegins { id, name, arguments, info } => {
                inner.calls.set_arguments(agent, id, name, arguments);
                // A question only waits for the user.
                if info.capability != Capability::AskUser {
                    inner.calls.set_started(agent, id, name, info);
                    inner.activities.start_tool(agent, id, format!("{name} {}", info.summary));
                }
                self.show_activity(inner);
            }
            Event::Output { id, line } => inner.activities.set_output(agent, id, line),
            Event::ToolEnds { id, name, text, failed, took, info, changes, whole } => {
                inner.activities.end_tool(agent, id);
                let (arguments, was_shown) = inner.calls.end(agent, id, name);
                let call = FinishedCall {
                    name: format!("{prefix}{name}"),
                    arguments,
                    text: text.clone(),
                    info: info.clone(),
                    changes: changes.clone(),
                    whole: whole.clone(),
                };
                let number = self.show_call(inner, &call, *failed, *took);
                self.show_changes(inner, &call, number, was_shown);
            }
            Event::Refused { refused, .. } => {
                for line in refusals(refused, self.granting) {
                    self.line(inner, &dim(&format!("{prefix}{line}")));
                }
            }
            Event::Todos(todos) => {
                // The result of the call that wrote them comes next.
                inner.todos = Some(todos.len());
                todos
                    .iter()
                    .for_each(|todo| self.line(inner, &format!("  {}", lines(&todo.line()))));
            }
            Event::Below { context_id, event } => self.show_event(inner, event, Some(context_id)),
            Event::Ends if agent.is_none() => {
                inner.activities.clear();
                self.show_activity(inner);
            }
            other => self.show_note(inner, other, &prefix),
        }
    }

    /// Shows the progress of a model call.
    fn show_call_event(&self, inner: &mut Inner, event: &CallEvent, agent: Option<&str>) {
        match event {
            CallEvent::Sending { tokens } => {
                inner.activities.start_reading(agent, *tokens);
                return self.draw(inner, "");
            }
            CallEvent::Responds => {
                inner.activities.start_model(agent);
                return self.draw(inner, "");
            }
            CallEvent::Delta(delta) => return self.show_delta(inner, delta, agent),
            CallEvent::Retry { wait, .. } => {
                inner.calls.drop_open(agent);
                inner.activities.retry_model(agent, *wait);
            }
            _ => {}
        }
        if let Some(text) = call_note(event) {
            let prefix = prefix_of(agent);
            self.line(inner, &dim(&format!("{prefix}{text}")));
        }
    }

    /// Shows an event that is only a note.
    fn show_note(&self, inner: &mut Inner, event: &Event, prefix: &str) {
        match event {
            Event::HandedOff { to, session } => {
                self.line(inner, &dim(&format!("{prefix}{}", handed_off(to, session))))
            }
            Event::Steered(text) => self.line(inner, &dim(&format!("{prefix}{text}"))),
            Event::Notice(notice) => {
                let text = turn_notice(notice);
                self.line(inner, &dim(&format!("{prefix}{text}")))
            }
            Event::Remembered { text, replaced, is_lasting } => {
                let note = remembered(text, replaced.as_deref(), *is_lasting);
                self.line(inner, &dim(&lines(&note)));
            }
            Event::RuleLeftOut { text } => {
                let note = text!("memory-rule-left-out", text = text.as_str());
                self.line(inner, &dim(&lines(&note)));
            }
            Event::HookFailed { middleware, hook, why } => {
                let text = text!("hook-failed", middleware = *middleware, hook = *hook, why = why);
                self.line(inner, &format!("{RED}{prefix}{}{RED:#}", lines(&text)));
            }
            _ => {}
        }
    }

    /// Shows more of an answer. What is not written to the screen only changes the footer, which is
    /// redrawn often enough.
    fn show_delta(&self, inner: &mut Inner, delta: &Delta, agent: Option<&str>) {
        match delta {
            Delta::Text(text) if agent.is_none() && !text.is_empty() => {
                inner.activities.end_model(None);
                self.write_answer(inner, text);
            }
            // The text of a sub-agent is for its parent, not for the user.
            Delta::Text(_) => {}
            Delta::Thinking(text) => inner.activities.add_thinking(agent, text.chars().count()),
            Delta::Call { at, id, name } => {
                inner.calls.start(agent, *at, id, name);
                inner.activities.start_call(agent, name);
            }
            Delta::Arguments { at, json } => {
                inner.calls.add_arguments(agent, *at, json);
                inner.activities.add_arguments(agent, json.chars().count());
            }
            _ => {}
        }
    }

    /// Shows a finished call on one line; `/unfold` shows it in full. Returns its number.
    fn show_call(
        &self,
        inner: &mut Inner,
        call: &FinishedCall,
        failed: bool,
        took: Duration,
    ) -> usize {
        let info = &call.info;
        let number = inner.calls.keep(call.clone());
        let todos = inner.todos.take();
        let (text, failed) = outcome(info.capability, todos, &call.text, failed);
        let (style, mark) = if failed { (RED, "✗") } else { (GREEN, "●") };
        let failure = failed.then(|| show::failure(info.capability, &text));
        let first = match &failure {
            Some(failure) => failure.cause.clone(),
            None => first_line(info.capability, &text),
        };
        // Of the whole output, also if the result is only a part of it.
        let lines = call.whole.as_ref().map_or(text.lines().count(), |whole| whole.lines);
        let hidden = match &failure {
            Some(failure) => failure.hidden,
            None => lines.saturating_sub(1),
        };
        let more = if hidden > 0 { format!(" (+{hidden})") } else { String::new() };
        let counted = match (info.capability, call.changes.as_slice()) {
            (Capability::Write, [diff]) => format!(" {}", counts(diff.added, diff.removed)),
            _ => String::new(),
        };
        let end = format!("{more} {:.1} s [{number}]", took.as_secs_f64());
        let used = width(&end) + width(&anstream::adapter::strip_str(&counted).to_string());
        let room = self.columns().saturating_sub(used + 3);
        let line = row(&call.name, &info.summary, &first, room);
        self.line(inner, &format!("{style}{mark}{style:#} {line}{counted}{DIM}{end}{DIM:#}"));
        for row in failure.iter().flat_map(|failure| &failure.lines) {
            let row = truncate(row, self.columns().saturating_sub(3));
            self.line(inner, &format!("  {}", dim(&row)));
        }
        number
    }

    /// Shows the calls that were running when the turn was stopped.
    pub(super) fn show_stopped(&self, inner: &mut Inner) {
        for StoppedCall { agent, mut call, took } in inner.calls.take_stopped() {
            call.name = format!("{}{}", prefix_of(agent.as_deref()), call.name);
            call.text = text!("call-cancelled");
            self.show_call(inner, &call, true, took);
        }
    }

    /// Shows what a call changed: the diff of a file, unless it was shown before the call was
    /// approved, or the files that a command changed.
    fn show_changes(&self, inner: &mut Inner, call: &FinishedCall, number: usize, was_shown: bool) {
        if call.info.capability != Capability::Write {
            if let Some(files) = changed_files(&call.changes) {
                self.line(inner, &format!("  {files}"));
            }
            return;
        }
        for diff in call.changes.iter().filter(|_| !was_shown) {
            let (rows, hidden) = rows_of(diff, DIFF_LINES);
            let rows = rows.strip_prefix('\n').unwrap_or(&rows);
            if !rows.is_empty() {
                self.line(inner, rows);
            }
            if hidden > 0 {
                let more = text!("diff-more-lines", count = hidden, number = number);
                self.line(inner, &format!("  {}", dim(&more)));
            }
        }
    }

    /// Asks for a line with a text that may contain style codes; `None` if no one can answer, or if
    /// the turn is cancelled. While the question is open, the footer shows `about`.
    async fn ask_line(&self, text: &str, about: &str, requires_answer: bool) -> Option<String> {
        let (answer, receiver) = oneshot::channel();
        {
            let mut inner = self.lock();
            let can_answer = self.accepts_input && !inner.is_input_closed;
            self.stash_draft(&mut inner);
            let question = OpenQuestion { answer, about: about.to_owned(), requires_answer };
            inner.question = can_answer.then_some(question);
            self.line(&mut inner, text);
            inner.question.as_ref()?;
        }
        receiver.await.ok()
    }
}

/// Returns what is shown in front of a sub-agent's lines.
fn prefix_of(agent: Option<&str>) -> String {
    agent.map(|id| format!("{id}: ")).unwrap_or_default()
}
