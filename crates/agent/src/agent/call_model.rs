//! The step of a turn that calls the model. What it answers decides what comes next.

use std::sync::atomic::Ordering;

use serde_json::json;
use waterline::message::Message;
use waterline_provider::answer::{Answer, Stop};
use waterline_provider::wire::Shape;
use waterline_session::AnswerNote;

use super::turn_state::{MustEnd, Next, Reason, TurnState};
use super::{Agent, View};
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::Hook;
use crate::outcome::Ending;
use crate::schema;
use crate::state::{self, Local, State};

/// How often an answer that was cut at its limit is gone on with.
const CONTINUED: usize = 3;

const CONTINUE: &str = "[Your answer was cut at its limit of tokens. Go on exactly where it ended; repeat nothing and say nothing about it.]";

const EMPTY: &str = "[Your answer was empty. Give it now.]";

/// Nothing came that could be gone on with.
const CUT_EMPTY: &str = "[Your answer was cut at its limit of tokens before its first word. Give it now, and think less before it.]";

/// Takes an answer into the turn; says what is stored with it.
fn note(answer: &Answer, turn: &mut TurnState) -> AnswerNote {
    turn.note(answer);
    let has_calls = answer.messages.iter().any(|message| message.calls().next().is_some());
    let is_cut = answer.stop == Stop::Length
        && !has_calls
        && !turn.is_silent()
        && turn.continued < CONTINUED
        && turn.must_end.is_none();
    let change = state::change(move |state: &mut State, local: &mut Local| {
        state.loops += 1;
        local.is_cut = is_cut;
    });
    let checkpoint = Some(json!({"step": turn.steps, "after": "model", "source": "agent"}));
    AnswerNote { changes: vec![change], checkpoint }
}

impl Agent {
    /// Calls the model.
    pub(super) async fn call_model(&mut self, turn: &mut TurnState) -> Result<Next, AgentError> {
        self.add_steering().await?;
        if turn.steps == 0 && self.local()?.is_cut {
            // The program ended in the middle of an answer that was being continued.
            turn.reason = Reason::Continue;
            self.live.add_ephemeral(CONTINUE);
        }
        if turn.must_end.is_none() {
            turn.must_end = self.must_end(turn)?.map(MustEnd::new);
        }
        let mut view = View::default();
        if let Some(next) = self.decided(Hook::BeforeModel, turn, &mut view).await? {
            return Ok(next);
        }
        view.asides.drain(..).for_each(|text| self.live.add_ephemeral(text));
        if let Some(must_end) = &mut turn.must_end {
            must_end.report_asked = true;
            self.live.add_ephemeral(format!(
                "[This turn must end now: {}. Call no tool. Report in a few sentences what was done, what was found, and what is \
                 left to do.]",
                must_end.why
            ));
        }
        let schema = self.sent_schema(turn)?;
        self.live.answer_as(schema, turn.repaired);
        self.emit(&Event::Asks(turn.steps + 1));
        let observers = self.observers.clone();
        let emit = move |event| observers.emit(&Event::Call(event));
        let answer =
            self.live.call_with_note(Vec::new(), |answer| note(answer, turn), emit).await?;
        self.shared.iterations.fetch_add(1, Ordering::Relaxed);
        self.emit(&Event::Answered { stop: answer.stop.clone(), usage: answer.usage });
        let mut view = View { answer: Some(&answer), ..View::default() };
        let decided = self.decided(Hook::AfterModel, turn, &mut view).await?;
        match decided {
            Some(next) => Ok(next),
            None => self.after(&answer, turn),
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

    /// Why the turn must end with this call, if it must.
    fn must_end(&self, turn: &TurnState) -> Result<Option<String>, AgentError> {
        let state = self.state()?;
        if let Some(most) = state.max_loops.filter(|most| state.loops >= *most) {
            return Ok(Some(format!("it took {most} loops, as many as it may")));
        }
        let iterations = self.shared.iterations.load(Ordering::Relaxed);
        Ok(self.config.limits.reached(turn.steps, iterations, turn.since))
    }

    /// The schema of the answer as it goes with the call. A report has none, and what continues an
    /// answer begins in its middle.
    fn sent_schema(&self, turn: &TurnState) -> Result<Option<Shape>, AgentError> {
        if turn.must_end.is_some() || turn.reason == Reason::Continue {
            return Ok(None);
        }
        Ok(self.schema()?.map(|schema| schema.shape().clone()))
    }

    /// What an answer leads to.
    fn after(&mut self, answer: &Answer, turn: &mut TurnState) -> Result<Next, AgentError> {
        if answer.messages.iter().any(|message| message.calls().next().is_some()) {
            turn.reason = Reason::Input;
            return Ok(Next::Tools);
        }
        if let Some(must_end) = turn.must_end.take() {
            return Ok(Next::End(Ending::Limit(must_end.why)));
        }
        match answer.stop {
            Stop::Refused => {
                return Ok(Next::End(Ending::Halted(
                    "the model, or a filter of its provider, refused".to_owned(),
                )));
            }
            Stop::Paused => {
                turn.reason = Reason::Continue;
                return Ok(Next::Model);
            }
            _ if turn.is_silent() => return Ok(self.after_nothing(answer, turn)),
            Stop::Length if turn.continued < CONTINUED => {
                turn.continued += 1;
                turn.reason = Reason::Continue;
                self.live.add_ephemeral(CONTINUE);
                return Ok(Next::Model);
            }
            Stop::Length => {
                let why = format!(
                    "the answer was cut {} times at its limit of tokens, and its end is missing; a larger max_tokens allows more",
                    turn.continued + 1
                );
                return Ok(Next::End(Ending::Limit(why)));
            }
            _ => {}
        }
        self.after_words(turn)
    }

    /// Nothing was said: the model is asked once more, then the turn ends without an answer.
    fn after_nothing(&mut self, answer: &Answer, turn: &mut TurnState) -> Next {
        let is_cut = answer.stop == Stop::Length;
        if turn.reason != Reason::Empty {
            turn.reason = Reason::Empty;
            self.live.add_ephemeral(if is_cut { CUT_EMPTY } else { EMPTY });
            return Next::Model;
        }
        let why = if is_cut {
            "the model used up its limit of tokens twice before the first word of an answer; a larger max_tokens allows more"
        } else {
            "the model gave an empty answer, and another one when it was asked again; say it in other words, or ask another model"
        };
        Next::End(Ending::Halted(why.to_owned()))
    }

    /// A whole answer: it fits the schema that was asked for, or is asked for once more.
    fn after_words(&mut self, turn: &mut TurnState) -> Result<Next, AgentError> {
        let Some(schema) = self.schema()? else { return Ok(Next::End(Ending::Done)) };
        Ok(match schema.check(&turn.text) {
            Ok(()) => {
                // For whoever reads on: the JSON, and nothing around it.
                turn.text = schema::bare(&turn.text).to_owned();
                Next::End(Ending::Done)
            }
            Err(why) if turn.repaired => Next::End(Ending::Halted(format!(
                "the answer does not fit the schema that was asked for: {why}"
            ))),
            Err(why) => {
                turn.repaired = true;
                self.live.add_ephemeral(format!(
                    "[Your answer does not fit the schema that was asked for: {why}. Answer again with nothing but JSON that fits it.]"
                ));
                Next::Model
            }
        })
    }
}
