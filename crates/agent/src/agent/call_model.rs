//! The step of a turn that calls the model. Its answer decides the next step.

use std::sync::atomic::Ordering;

use waterline::message::Message;
use waterline_provider::answer::{Answer, Stop};
use waterline_provider::wire::Shape;
use waterline_session::AnswerNote;

use super::turn_state::{MustEnd, Next, Reason, TurnState};
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
                               answer text. Answer now, and think less before you do.]";

/// Records an answer in the turn, and returns what is stored together with it.
fn record(answer: &Answer, turn: &mut TurnState) -> AnswerNote {
    turn.record(answer);
    let is_truncated = answer.stop == Stop::Length
        && !has_calls(answer)
        && !turn.is_silent()
        && turn.continuations < MAX_CONTINUATIONS
        && turn.must_end.is_none();
    let change = state::change(move |state: &mut State, local: &mut Local| {
        state.loops += 1;
        local.is_truncated = is_truncated;
    });
    let checkpoint = turn.writes_checkpoints.then(|| turn.checkpoint("model"));
    AnswerNote { changes: vec![change], checkpoint }
}

fn has_calls(answer: &Answer) -> bool {
    answer.messages.iter().any(|message| message.calls().next().is_some())
}

impl Agent {
    /// Calls the model and returns the next step.
    pub(super) async fn call_model(&mut self, turn: &mut TurnState) -> Result<Next, AgentError> {
        self.add_steering().await?;
        if turn.steps == 0 && self.local()?.is_truncated {
            // The process exited before a truncated answer was continued.
            turn.reason = Reason::Continue;
            self.live.add_ephemeral(CONTINUE);
        }
        if turn.must_end.is_none() {
            turn.must_end = self.reached_limit(turn)?.map(MustEnd::new);
        }
        let mut data = HookData::default();
        if let Some(next) = self.run_hooks(Hook::BeforeModel, turn, &mut data).await? {
            return Ok(next);
        }
        data.ephemeral.drain(..).for_each(|text| self.live.add_ephemeral(text));
        if let Some(must_end) = &mut turn.must_end {
            must_end.report_requested = true;
            self.live.add_ephemeral(format!(
                "[You must stop now: {}. Do not call tools. Summarize in a few sentences what was \
                 done, what you found, and what remains to be done.]",
                must_end.why
            ));
        }
        let schema = self.request_schema(turn)?;
        self.live.answer_as(schema, turn.repaired);
        self.observers.set_source(|source| source.step = turn.steps + 1);
        self.emit(&Event::Asks(turn.steps + 1));
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
            self.live.call_with_note(Vec::new(), |answer| record(answer, turn), emit).await?;
        self.shared.iterations.fetch_add(1, Ordering::Relaxed);
        self.emit(&Event::Answered { stop: answer.stop.clone(), usage: answer.usage });
        let mut data = HookData { answer: Some(&answer), ..HookData::default() };
        match self.run_hooks(Hook::AfterModel, turn, &mut data).await? {
            Some(next) => Ok(next),
            None => self.after_answer(&answer, turn),
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
    fn reached_limit(&self, turn: &TurnState) -> Result<Option<EndReason>, AgentError> {
        let state = self.state()?;
        if let Some(most) = state.max_loops.filter(|most| state.loops >= *most) {
            return Ok(Some(EndReason::TaskCalls(most)));
        }
        let iterations = self.shared.iterations.load(Ordering::Relaxed);
        Ok(self.config.limits.reached(turn.steps, iterations, turn.started))
    }

    /// Returns the answer schema to send with the request. A final report has none, and neither has
    /// the continuation of an answer, which starts in the middle of the JSON.
    fn request_schema(&self, turn: &TurnState) -> Result<Option<Shape>, AgentError> {
        if turn.must_end.is_some() || turn.reason == Reason::Continue {
            return Ok(None);
        }
        Ok(self.schema()?.map(|schema| schema.shape().clone()))
    }

    /// Returns the step that follows an answer.
    fn after_answer(&mut self, answer: &Answer, turn: &mut TurnState) -> Result<Next, AgentError> {
        if has_calls(answer) {
            turn.reason = Reason::Input;
            return Ok(Next::Tools);
        }
        if let Some(must_end) = turn.must_end.take() {
            return Ok(Next::End(Ending::Limit(must_end.why)));
        }
        match answer.stop {
            Stop::Refused => Ok(Next::End(Ending::Halted(EndReason::Refused))),
            Stop::Paused => {
                turn.reason = Reason::Continue;
                Ok(Next::Model)
            }
            _ if turn.is_silent() => Ok(self.after_empty_answer(answer, turn)),
            Stop::Length if turn.continuations < MAX_CONTINUATIONS => {
                turn.continuations += 1;
                turn.reason = Reason::Continue;
                self.live.add_ephemeral(CONTINUE);
                Ok(Next::Model)
            }
            Stop::Length => {
                let times = turn.continuations as u64 + 1;
                Ok(Next::End(Ending::Limit(EndReason::OutputTokens(times))))
            }
            _ => self.after_complete_answer(turn),
        }
    }

    /// Asks the model once more after an empty answer, then ends the turn.
    fn after_empty_answer(&mut self, answer: &Answer, turn: &mut TurnState) -> Next {
        let is_truncated = answer.stop == Stop::Length;
        if turn.reason != Reason::Empty {
            turn.reason = Reason::Empty;
            self.live.add_ephemeral(if is_truncated { TRUNCATED_EMPTY } else { EMPTY });
            return Next::Model;
        }
        let why = if is_truncated { EndReason::NoAnswerText } else { EndReason::EmptyAnswer };
        Next::End(Ending::Halted(why))
    }

    /// Checks a complete answer against the schema, if there is one. The model may correct an
    /// invalid answer once.
    fn after_complete_answer(&mut self, turn: &mut TurnState) -> Result<Next, AgentError> {
        let Some(schema) = self.schema()? else { return Ok(Next::End(Ending::Done)) };
        Ok(match schema.check(&turn.text) {
            Ok(()) => {
                // Callers get only the JSON, without the text around it.
                turn.text = schema::bare(&turn.text).to_owned();
                Next::End(Ending::Done)
            }
            Err(why) if turn.repaired => {
                Next::End(Ending::Halted(EndReason::Schema(why.to_string())))
            }
            Err(why) => {
                turn.repaired = true;
                self.live.add_ephemeral(format!(
                    "[Your answer does not match the required JSON schema: {why}. Answer again \
                     with only JSON that matches the schema.]"
                ));
                Next::Model
            }
        })
    }
}
