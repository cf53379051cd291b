//! The part of a turn that calls the model. Its answer decides the next action.

use std::sync::atomic::Ordering;

use waterline::message::Message;
use waterline_provider::answer::{Answer, Stop};
use waterline_provider::wire::Shape;
use waterline_session::HostUpdate;

use super::run_state::{MustEnd, Next, Reason, RunState};
use super::{Agent, HookData};
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::Hook;
use crate::outcome::Ending;
use crate::reason::EndReason;
use crate::schema;
use crate::state::{self, Local, State};

/// How many times a truncated answer is continued.
const MAX_CONTINUATIONS: usize = 3;

/// Sent after an answer that was truncated at the token limit.
const CONTINUE: &str = "[Your previous message hit the output token limit. Continue exactly where \
                        it stopped; do not repeat anything and do not comment on this.]";

/// Sent after an empty answer.
const EMPTY: &str = "[Your previous message was empty. Answer now.]";

/// Sent after an answer that was truncated before it had any text to continue.
const TRUNCATED_EMPTY: &str = "[Your previous message hit the output token limit before any \
                               answer text. Answer now, with less reasoning.]";

/// Records an answer in the state of the run, and returns what is stored together with it.
fn record(answer: &Answer, run: &mut RunState) -> HostUpdate {
    run.record(answer);
    let is_truncated = answer.stop == Stop::Length
        && !has_calls(answer)
        && !run.is_silent()
        && run.continuations < MAX_CONTINUATIONS
        && run.must_end.is_none();
    let change = state::change(move |state: &mut State, local: &mut Local| {
        state.loops += 1;
        local.is_truncated = is_truncated;
    });
    let checkpoint = run.writes_checkpoints.then(|| run.checkpoint("model"));
    HostUpdate { changes: vec![change], checkpoint }
}

fn has_calls(answer: &Answer) -> bool {
    answer.messages.iter().any(|message| message.calls().next().is_some())
}

impl Agent {
    /// Calls the model and returns the next action.
    pub(super) async fn call_model(&mut self, run: &mut RunState) -> Result<Next, AgentError> {
        self.add_steering().await?;
        if run.steps == 0 && self.local_state()?.is_truncated {
            // The process exited before a truncated answer was continued.
            run.reason = Reason::Continue;
            self.live.add_ephemeral(CONTINUE);
        }
        if run.must_end.is_none() {
            run.must_end = self.reached_limit(run)?.map(MustEnd::new);
        }
        let mut data = HookData::default();
        if let Some(next) = self.run_hooks(Hook::BeforeModel, run, &mut data).await? {
            return Ok(next);
        }
        data.ephemeral.drain(..).for_each(|text| self.live.add_ephemeral(text));
        if let Some(must_end) = &mut run.must_end {
            must_end.report_requested = true;
            self.live.add_ephemeral(format!(
                "[You must stop now: {}. Do not call tools. Summarize in a few sentences what was \
                 done, what you found, and what remains to be done.]",
                must_end.why
            ));
        }
        let schema = self.request_schema(run)?;
        self.live.answer_as(schema, run.repaired);
        self.observers.set_source(|source| source.step = run.steps + 1);
        self.emit(&Event::Asks(run.steps + 1));
        let observers = self.observers.clone();
        let encode = self.encoding();
        let emit = move |event| {
            // The new messages are stored now, and there is time until the model answers.
            if matches!(event, waterline_session::Event::Sending { .. }) {
                encode();
            }
            observers.emit(&Event::Call(event));
        };
        let answer =
            self.live.call_with_update(Vec::new(), |answer| record(answer, run), emit).await?;
        self.shared.iterations.fetch_add(1, Ordering::Relaxed);
        self.emit(&Event::Answered { stop: answer.stop.clone(), usage: answer.usage });
        let mut data = HookData { answer: Some(&answer), ..HookData::default() };
        match self.run_hooks(Hook::AfterModel, run, &mut data).await? {
            Some(next) => Ok(next),
            None => self.after_answer(&answer, run),
        }
    }

    /// Adds the messages that the user sent during the turn.
    async fn add_steering(&mut self) -> Result<(), AgentError> {
        for text in self.approver.poll_steering() {
            self.live.say(vec![Message::user(&text)]).await?;
            self.emit(&Event::Steered(text));
        }
        Ok(())
    }

    /// Returns why this must be the last model call of the turn, if it must.
    fn reached_limit(&self, run: &RunState) -> Result<Option<EndReason>, AgentError> {
        let state = self.state()?;
        if let Some(most) = state.max_loops.filter(|most| state.loops >= *most) {
            return Ok(Some(EndReason::TaskCalls(most)));
        }
        let iterations = self.shared.iterations.load(Ordering::Relaxed);
        let policy = &self.live.policy().name;
        Ok(self.config.limits.reached(policy, run.steps, iterations, run.started))
    }

    /// Returns the answer schema to send with the request. A final report has none, and neither has
    /// the continuation of an answer, which starts in the middle of the JSON.
    fn request_schema(&self, run: &RunState) -> Result<Option<Shape>, AgentError> {
        if run.must_end.is_some() || run.reason == Reason::Continue {
            return Ok(None);
        }
        Ok(self.answer_schema()?.map(|schema| schema.shape().clone()))
    }

    /// Returns the action that follows an answer.
    fn after_answer(&mut self, answer: &Answer, run: &mut RunState) -> Result<Next, AgentError> {
        if has_calls(answer) {
            run.reason = Reason::Input;
            return Ok(Next::Tools);
        }
        if let Some(must_end) = run.must_end.take() {
            return Ok(Next::End(Ending::Limit(must_end.why)));
        }
        match answer.stop {
            Stop::Refused => Ok(Next::End(Ending::Halted(EndReason::Refused))),
            Stop::Paused => {
                run.reason = Reason::Continue;
                Ok(Next::Model)
            }
            _ if run.is_silent() => Ok(self.after_empty_answer(answer, run)),
            Stop::Length if run.continuations < MAX_CONTINUATIONS => {
                run.continuations += 1;
                run.reason = Reason::Continue;
                self.live.add_ephemeral(CONTINUE);
                Ok(Next::Model)
            }
            Stop::Length => {
                let times = run.continuations as u64 + 1;
                Ok(Next::End(Ending::Limit(EndReason::OutputTokens(times))))
            }
            _ => self.after_complete_answer(run),
        }
    }

    /// Asks the model once more after an empty answer, then ends the turn.
    fn after_empty_answer(&mut self, answer: &Answer, run: &mut RunState) -> Next {
        let is_truncated = answer.stop == Stop::Length;
        if run.reason != Reason::Empty {
            run.reason = Reason::Empty;
            self.live.add_ephemeral(if is_truncated { TRUNCATED_EMPTY } else { EMPTY });
            return Next::Model;
        }
        let why = if is_truncated { EndReason::NoAnswerText } else { EndReason::EmptyAnswer };
        Next::End(Ending::Halted(why))
    }

    /// Checks a complete answer against the schema, if there is one. The model may correct an
    /// invalid answer once.
    fn after_complete_answer(&mut self, run: &mut RunState) -> Result<Next, AgentError> {
        let Some(schema) = self.answer_schema()? else { return Ok(Next::End(Ending::Done)) };
        Ok(match schema.check(&run.text) {
            Ok(()) => {
                // Callers get only the JSON, without the text around it.
                run.text = schema::bare(&run.text).to_owned();
                Next::End(Ending::Done)
            }
            Err(why) if run.repaired => Next::End(Ending::Halted(EndReason::Schema(why))),
            Err(why) => {
                run.repaired = true;
                self.live.add_ephemeral(format!(
                    "[Your answer does not match the required JSON schema: {why}. Answer again \
                     with only JSON that matches the schema.]"
                ));
                Next::Model
            }
        })
    }
}
