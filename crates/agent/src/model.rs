//! The model's part of a turn: it is asked, and what it answers decides what comes next.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;
use waterline::message::Message;
use waterline_provider::answer::{Answer, Stop};
use waterline_provider::wire::Shape;
use waterline_session::Note;

use crate::agent::{Agent, View};
use crate::callback;
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::Hook;
use crate::outcome::Ending;
use crate::run::{Next, Run};
use crate::schema;
use crate::state::{self, Local, State};

/// How often an answer that was cut at its limit is gone on with.
const CONTINUED: usize = 3;

const CONTINUE: &str = "[Your answer was cut at its limit of tokens. Go on exactly where it ended; repeat nothing and say nothing about it.]";

const EMPTY: &str = "[Your answer was empty. Give it now.]";

/// Nothing came that could be gone on with.
const CUT_EMPTY: &str =
    "[Your answer was cut at its limit of tokens before its first word. Give it now, and think less before it.]";

/// Takes an answer into the turn; says what is stored with it.
fn note(answer: &Answer, run: &mut Run) -> Note {
    run.note(answer);
    let has_calls = answer.messages.iter().any(|message| message.calls().next().is_some());
    let is_cut = answer.stop == Stop::Length
        && !has_calls
        && !run.is_silent()
        && run.continued < CONTINUED
        && run.last_words.is_none();
    let change = state::change(move |state: &mut State, local: &mut Local| {
        state.loops += 1;
        local.is_cut = is_cut;
    });
    let checkpoint = Some(json!({"step": run.steps, "after": "model", "source": "agent"}));
    Note { changes: vec![change], checkpoint }
}

impl Agent {
    /// Asks the model.
    pub(crate) async fn model(&mut self, run: &mut Run) -> Result<Next, AgentError> {
        self.hear_steering().await?;
        if run.steps == 0 && self.local()?.is_cut {
            // The program ended in the middle of an answer that was being gone on with.
            run.goes_on = true;
            self.live.aside(CONTINUE);
        }
        if run.last_words.is_none() {
            run.last_words = self.must_end(run)?;
        }
        let mut view = View::default();
        if let Some(next) = self.decided(Hook::BeforeModel, run, &mut view).await? {
            return Ok(next);
        }
        view.asides.drain(..).for_each(|text| self.live.aside(text));
        if let Some(why) = &run.last_words {
            run.reported = true;
            self.live.aside(format!(
                "[This turn must end now: {why}. Call no tool. Report in a few sentences what was done, what was found, and what is \
                 left to do.]"
            ));
        }
        let schema = self.sent_schema(run)?;
        self.live.answer_as(schema, run.repaired);
        self.hear(&Event::Asks(run.steps + 1));
        let (person, config) = (Arc::clone(&self.person), Arc::clone(&self.config));
        let hear = move |event| {
            let event = Event::Call(event);
            person.hear(&event);
            config.callbacks.iter().for_each(|callback| callback::tell(&**callback, &event));
        };
        let answer = self.live.call_noting(Vec::new(), |answer| note(answer, run), hear).await?;
        self.crew.iterations.fetch_add(1, Ordering::Relaxed);
        self.hear(&Event::Answered { stop: answer.stop.clone(), usage: answer.usage });
        let mut view = View { answer: Some(&answer), ..View::default() };
        let decided = self.decided(Hook::AfterModel, run, &mut view).await?;
        match decided {
            Some(next) => Ok(next),
            None => self.after(&answer, run),
        }
    }

    /// What was said meanwhile is heard before the next step.
    async fn hear_steering(&mut self) -> Result<(), AgentError> {
        for text in self.person.steering() {
            self.live.say(vec![Message::user(&text)]).await?;
            self.hear(&Event::Steered(text));
        }
        Ok(())
    }

    /// Why the turn must end with this call, if it must.
    fn must_end(&self, run: &Run) -> Result<Option<String>, AgentError> {
        let state = self.state()?;
        if let Some(most) = state.max_loops.filter(|most| state.loops >= *most) {
            return Ok(Some(format!("it took {most} loops, as many as it may")));
        }
        let iterations = self.crew.iterations.load(Ordering::Relaxed);
        Ok(self.config.limits.reached(run.steps, iterations, run.since))
    }

    /// The schema of the answer as it goes with the call. A report has none, and what continues an answer begins in its middle.
    fn sent_schema(&self, run: &Run) -> Result<Option<Shape>, AgentError> {
        if run.last_words.is_some() || run.goes_on {
            return Ok(None);
        }
        Ok(self.schema()?.map(|schema| schema.shape().clone()))
    }

    /// What an answer leads to.
    fn after(&mut self, answer: &Answer, run: &mut Run) -> Result<Next, AgentError> {
        if answer.messages.iter().any(|message| message.calls().next().is_some()) {
            run.nudged = false;
            return Ok(Next::Tools);
        }
        if let Some(why) = run.last_words.take() {
            return Ok(Next::End(Ending::Limit(why)));
        }
        match answer.stop {
            Stop::Refused => {
                return Ok(Next::End(Ending::Halted("the model, or a filter of its provider, refused".to_owned())));
            }
            Stop::Paused => {
                run.goes_on = true;
                return Ok(Next::Model);
            }
            _ if run.is_silent() => return Ok(self.after_nothing(answer, run)),
            Stop::Length if run.continued < CONTINUED => {
                run.continued += 1;
                run.goes_on = true;
                self.live.aside(CONTINUE);
                return Ok(Next::Model);
            }
            Stop::Length => {
                let why = format!(
                    "the answer was cut {} times at its limit of tokens, and its end is missing; a larger max_tokens allows more",
                    run.continued + 1
                );
                return Ok(Next::End(Ending::Limit(why)));
            }
            _ => {}
        }
        self.after_words(run)
    }

    /// Nothing was said: the model is asked once more, then the turn ends without an answer.
    fn after_nothing(&mut self, answer: &Answer, run: &mut Run) -> Next {
        let is_cut = answer.stop == Stop::Length;
        if !std::mem::replace(&mut run.nudged, true) {
            self.live.aside(if is_cut { CUT_EMPTY } else { EMPTY });
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
    fn after_words(&mut self, run: &mut Run) -> Result<Next, AgentError> {
        let Some(schema) = self.schema()? else { return Ok(Next::End(Ending::Done)) };
        Ok(match schema.check(&run.text) {
            Ok(()) => {
                // For whoever reads on: the JSON, and nothing around it.
                run.text = schema::bare(&run.text).to_owned();
                Next::End(Ending::Done)
            }
            Err(why) if run.repaired => {
                Next::End(Ending::Halted(format!("the answer does not fit the schema that was asked for: {why}")))
            }
            Err(why) => {
                run.repaired = true;
                self.live.aside(format!(
                    "[Your answer does not fit the schema that was asked for: {why}. Answer again with nothing but JSON that fits it.]"
                ));
                Next::Model
            }
        })
    }
}
