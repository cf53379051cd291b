//! One model call, from the new messages to the stored answer.

use std::time::{Duration, Instant};

use tracing::Instrument as _;
use waterline::message::Message;
use waterline_log::{LogError, Usage as Recorded};
use waterline_provider::answer::{Answer, Delta};
use waterline_provider::http::{CallError, Request};
use waterline_provider::wire::{self, Options, Rendered};

use crate::cache::LastCall;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::Live;
use crate::offline;
use crate::recover::Trouble;
use crate::setup::Place;
use crate::trace;

impl Live {
    /// Says something to the model and has its answer. `emit` hears each delta as it comes, and what else happens; after a
    /// call that broke off it hears the next one from its beginning. Dropping the call at any moment leaves a valid log.
    ///
    /// # Errors
    /// When the log cannot be written, or when the provider's error stays after everything that could be tried.
    pub async fn call(&mut self, new: Vec<Message>, mut emit: impl FnMut(Event)) -> Result<Answer, SessionError> {
        self.begin().await?;
        self.append(new).await?;
        let mut begins_turn = std::mem::take(&mut self.turn_begins);
        let mut trouble = Trouble::default();
        loop {
            let plan = self.plan(begins_turn, &mut emit).await?;
            self.freeze(plan, &mut emit).await?;
            let context = self.render()?;
            let started = Instant::now();
            match self.ask(&context, &mut emit).await {
                Ok(answer) if !self.must_fold_for(&answer, &mut trouble, &mut emit).await? => {
                    self.take(&answer, started.elapsed()).await?;
                    self.end();
                    return Ok(answer);
                }
                Ok(_) => {}
                Err(error) => self.recover(error, &mut trouble, &mut emit).await?,
            }
            begins_turn = false;
        }
    }

    /// The context as the wire writes it, checked as the provider will read it. What is found is a bug of ours: it is
    /// counted, and the provider has the last word.
    fn render(&mut self) -> Result<Rendered, SessionError> {
        let Place::Endpoint(endpoint) = &self.model().place else { return Ok(Rendered::default()) };
        let wire = endpoint.wire();
        let mut context: Vec<&Message> = self.generation.context(&self.history).collect();
        let (rendered, violations) = if self.aside.is_empty() {
            self.sheet.write(self.generation.number, wire, &context)
        } else {
            // What is said for one call must not get into what is kept for the next ones.
            context.extend(&self.aside);
            let rendered = wire::render(wire, &context);
            let violations = wire::check(wire, &rendered.texts());
            (rendered, violations)
        };
        if rendered.messages.is_empty() {
            return Err(SessionError::Empty);
        }
        for violation in &violations {
            tracing::error!(target: "waterline::context", session = %self.session.id, %violation, "the context breaks a rule");
        }
        self.violations.extend(violations);
        Ok(rendered)
    }

    async fn ask(&mut self, context: &Rendered, emit: &mut impl FnMut(Event)) -> Result<Answer, CallError> {
        self.heard.clear();
        trace::sending(self);
        let span = trace::call(self);
        let shape = self.sent_shape();
        let Self { setup, session, heard, at, .. } = self;
        let candidate = setup.candidate(*at);
        let mut hear = |delta: Delta| {
            if let Delta::Text(text) = &delta {
                heard.push_str(text);
            }
            emit(Event::Delta(delta));
        };
        let Place::Endpoint(endpoint) = &candidate.place else {
            let answer = offline::answer(self).await;
            for text in answer.messages.iter().map(Message::text).filter(|text| !text.is_empty()) {
                emit(Event::Delta(Delta::Text(text)));
            }
            return Ok(answer);
        };
        let cache_key = setup.options.cache_key.clone().or_else(|| Some(session.id.clone()));
        let options = Options { cache_key, shape, ..setup.options.clone() };
        let request = Request { model: &candidate.name, context, tools: &setup.tools, options: &options };
        let outcome = endpoint.call(request, &mut hear).instrument(span.clone()).await;
        // From here on what was heard is in the answer, or in the error.
        self.heard.clear();
        trace::answered(&span, &outcome);
        outcome
    }

    /// Stores an answer, and what it took.
    async fn take(&mut self, answer: &Answer, took: Duration) -> Result<(), SessionError> {
        let aside: usize = self.aside.iter().map(|message| self.history.counter().message(message)).sum();
        let expected = self.generation.tokens() + self.budget.tools + aside;
        if answer.usage.prompt() > 0 {
            self.budget.calibration.observe(expected, answer.usage.prompt());
        }
        self.note_prompt(answer);
        if let Err(error) = self.append(answer.messages.clone()).await {
            // Somebody else moved the session on meanwhile; the answer is kept all the same.
            if matches!(error, SessionError::Log(LogError::Conflict { .. })) {
                self.keep_aside(&answer.messages).await?;
            }
            return Err(error);
        }
        let usage = Recorded {
            position: self.session.tip.position(),
            model: self.model().name.clone(),
            input: answer.usage.input as u64,
            cache_read: answer.usage.cache_read as u64,
            cache_write: answer.usage.cache_write as u64,
            output: answer.usage.output as u64,
            price: trace::price(self, &answer.usage),
            latency: i64::try_from(took.as_millis()).ok(),
            time: self.log.now(),
        };
        trace::took(self, &usage);
        self.last = Some(LastCall::new(usage.time, usage.model.clone()));
        self.folds.called();
        let id = self.session.id.clone();
        self.on_log(move |log| log.record_usage(&id, usage)).await?;
        self.learn_factor().await
    }
}
