//! One model call, from the new messages to the stored answer.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tracing::Instrument as _;
use waterline::message::Message;
use waterline_log::{LogError, Usage as Recorded};
use waterline_provider::answer::{Answer, Delta};
use waterline_provider::wire::{self, Options, Rendered};
use waterline_provider::{CallError, Event as ModelEvent, EventStream, Request};

use crate::between_calls::LastCall;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::recover::RetryState;
use crate::staged::AnswerNote;
use crate::trace;

impl LiveSession {
    /// Says something to the model and has its answer. `emit` hears each delta as it comes, and
    /// what else happens; after a call that broke off it hears the next one from its beginning.
    /// Dropping the call at any moment leaves a valid log.
    ///
    /// # Errors
    /// When the log cannot be written, or when the provider's error stays after everything that
    /// could be tried.
    pub async fn call(
        &mut self,
        new: Vec<Message>,
        emit: impl FnMut(Event),
    ) -> Result<Answer, SessionError> {
        self.call_with_note(new, |_| AnswerNote::default(), emit).await
    }

    /// The same; what `note` says about the answer is stored with it, in one transaction.
    ///
    /// # Errors
    /// As for [`LiveSession::call`].
    pub async fn call_with_note(
        &mut self,
        new: Vec<Message>,
        note: impl FnOnce(&Answer) -> AnswerNote,
        mut emit: impl FnMut(Event),
    ) -> Result<Answer, SessionError> {
        self.begin().await?;
        self.take_in(new);
        let mut begins_turn = std::mem::take(&mut self.turn_begins);
        let mut trouble = RetryState::default();
        loop {
            let plan = self.plan(begins_turn, &mut emit).await?;
            self.freeze(plan, &mut emit).await?;
            let storing = self.start_commit();
            let context = self.render();
            // Nothing is sent before it is stored.
            self.finish_commit(storing).await?;
            let context = context?;
            let started = Instant::now();
            match self.call_model(&context, &mut emit).await {
                Ok(answer) if !self.must_fold_for(&answer, &mut trouble, &mut emit).await? => {
                    let noted = note(&answer);
                    self.take(&answer, noted, started.elapsed()).await?;
                    self.end();
                    return Ok(answer);
                }
                Ok(_) => {}
                Err(error) => self.recover(error, &mut trouble, &mut emit).await?,
            }
            begins_turn = false;
        }
    }

    /// The context as the wire writes it, checked as the provider will read it. What is found is a
    /// bug of ours: it is counted, and the provider has the last word.
    fn render(&mut self) -> Result<Rendered, SessionError> {
        let wire = self.model().model.wire();
        let context: Vec<&Message> = self.generation.context(&self.history).collect();
        let (rendered, violations) = if self.aside.is_empty() {
            self.render_cache.write(self.generation.number, wire, &context)
        } else {
            // What is said for one call must not get into what is kept for the next ones.
            let context: Vec<&Message> = context.into_iter().chain(&self.aside).collect();
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

    async fn call_model(
        &mut self,
        context: &Rendered,
        emit: &mut impl FnMut(Event),
    ) -> Result<Answer, CallError> {
        self.heard.clear();
        trace::sending(self);
        let span = trace::call(self);
        let mut events = self.send(context);
        let outcome = self.listen(&mut events, emit).instrument(span.clone()).await;
        // From here on what was heard is in the answer, or in the error.
        self.heard.clear();
        trace::answered(&span, &outcome);
        outcome
    }

    /// Calls the model with a context. The request goes out when the events are read.
    fn send(&self, context: &Rendered) -> EventStream {
        let candidate = self.model();
        let cache_key =
            self.config.options.cache_key.clone().or_else(|| Some(self.session.id.clone()));
        let options =
            Options { cache_key, shape: self.sent_shape(), ..self.config.options.clone() };
        let messages: Vec<&Message> =
            self.generation.context(&self.history).chain(&self.aside).collect();
        let request = Request::new(&candidate.name, &messages, context)
            .tools(&self.config.tools)
            .options(&options);
        candidate.model.call(request.session(&self.session.id))
    }

    /// Reads the events of a call to their end.
    async fn listen(
        &mut self,
        events: &mut EventStream,
        emit: &mut impl FnMut(Event),
    ) -> Result<Answer, CallError> {
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::Delta(delta) => {
                    if let Delta::Text(text) = &delta {
                        self.heard.push_str(text);
                    }
                    emit(Event::Delta(delta));
                }
                ModelEvent::Raw(event) if self.emits_raw => emit(Event::Raw(event)),
                ModelEvent::Answer(answer) => return Ok(answer),
                _ => continue,
            }
            // The caller takes what was emitted before more is read.
            tokio::task::yield_now().await;
        }
        Err(CallError::failed("the stream ended without an answer"))
    }

    /// Stores an answer, what it took and what the host notes about it.
    async fn take(
        &mut self,
        answer: &Answer,
        noted: AnswerNote,
        took: Duration,
    ) -> Result<(), SessionError> {
        let aside: usize =
            self.aside.iter().map(|message| self.history.counter().message(message)).sum();
        let expected = self.generation.tokens() + self.budget.tools + aside;
        if answer.usage.prompt() > 0 {
            self.budget.calibration.observe(expected, answer.usage.prompt());
        }
        self.note_prompt(answer);
        self.take_in(answer.messages.clone());
        let usage = Recorded {
            position: self.session.tip.position() + answer.messages.len() as u64,
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
        self.staged.usage = Some(usage);
        self.staged.checkpoint = noted.checkpoint;
        noted.changes.into_iter().try_for_each(|change| self.note_change(change))?;
        self.learn_factor();
        let stored = self.commit().await;
        if matches!(stored, Err(SessionError::Log(LogError::Conflict { .. }))) {
            // Another process moved the session on meanwhile; the answer is kept all the same.
            self.keep_aside(&answer.messages).await?;
        }
        stored
    }
}
