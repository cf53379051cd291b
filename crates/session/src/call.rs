//! One model call, from the new messages to the stored answer.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tracing::Instrument as _;
use waterline::message::Message;
use waterline_log::{LogError, Usage as StoredUsage};
use waterline_provider::answer::{Answer, Delta, Usage};
use waterline_provider::wire::{self, Options, Rendered, requires_limit};
use waterline_provider::{CallError, Event as ModelEvent, EventStream, Request};

use crate::between_calls::LastCall;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::plausible::{estimated_tokens, plausible};
use crate::recover::RetryState;
use crate::trace;
use crate::unsaved::HostUpdate;

impl LiveSession {
    /// Appends messages, calls the model and stores its answer. `emit` receives every event, deltas
    /// as they arrive. When a call is retried, `emit` receives the new stream from its
    /// start. Dropping the future at any moment leaves a valid log.
    ///
    /// # Errors
    /// When the log cannot be written, or when retries, fallback models and folds did not resolve
    /// the provider's error.
    pub async fn call(
        &mut self,
        new: Vec<Message>,
        emit: impl FnMut(Event),
    ) -> Result<Answer, SessionError> {
        self.call_with_update(new, |_| HostUpdate::default(), emit).await
    }

    /// Like [`LiveSession::call`], but also stores the update that `make_update` returns for the
    /// answer, in the same transaction.
    ///
    /// # Errors
    /// As for [`LiveSession::call`].
    pub async fn call_with_update(
        &mut self,
        new: Vec<Message>,
        make_update: impl FnOnce(&Answer) -> HostUpdate,
        mut emit: impl FnMut(Event),
    ) -> Result<Answer, SessionError> {
        // Marks the session busy until `finish_call`. If this call fails or is dropped, the next
        // use reads the session from the log again.
        self.start_call().await?;
        self.append(new).await?;
        let mut starts_turn = std::mem::take(&mut self.next_call_starts_turn);
        let mut retry = RetryState::default();
        loop {
            let plan = self.plan(starts_turn, &mut emit).await?;
            // From here on the plan is the context: later calls only append to it, until a fold.
            self.use_plan(plan, &mut emit).await?;
            // The context is rendered while the log stores the messages. Nothing is sent before it
            // is stored, and a rendering error must not stop the commit.
            let storing = self.start_commit().await?;
            let rendered = self.render();
            self.finish_commit(storing).await?;
            let rendered = rendered?;
            let started = Instant::now();
            match self.call_model(&rendered, &mut emit).await {
                Ok(answer) => {
                    // The answer is useless if the server read only a part of the prompt, or if the
                    // window was full before the answer was complete. It is then kept on a side
                    // branch, and the next plan folds harder.
                    let took = started.elapsed();
                    let must_retry =
                        self.reject_if_overflowed(&answer, took, &mut retry, &mut emit).await?;
                    if !must_retry {
                        self.store_answer(&answer, make_update(&answer), took).await?;
                        self.finish_call();
                        return Ok(answer);
                    }
                }
                Err(error) => {
                    self.keep_failed(&error, started.elapsed()).await?;
                    self.recover(error, &mut retry, &mut emit).await?;
                }
            }
            // A retry is not a new turn: a policy that folds between turns must not fold again.
            starts_turn = false;
        }
    }

    /// Renders the context in the provider's format (its *wire*) and checks it against the rules of
    /// that wire. A violation is our bug: it is recorded, and the request is sent anyway, because
    /// the provider decides.
    fn render(&mut self) -> Result<Rendered, SessionError> {
        let wire = self.model().model.wire();
        let context: Vec<&Message> = self.generation.context(&self.history).collect();
        let (rendered, violations) = if self.ephemeral.is_empty() {
            self.render_cache.render(self.generation.number, wire, &context)
        } else {
            // An ephemeral message belongs to this call only and must not enter the cache.
            let context: Vec<&Message> = context.into_iter().chain(&self.ephemeral).collect();
            let rendered = wire::render(wire, &context);
            let violations = wire::check(wire, &rendered.texts());
            (rendered, violations)
        };
        if rendered.messages.is_empty() {
            return Err(SessionError::Empty);
        }
        for violation in &violations {
            tracing::error!(
                target: "waterline::context",
                session = %self.session.id,
                %violation,
                "the context violates a rule of the wire"
            );
        }
        self.violations.extend(violations);
        Ok(rendered)
    }

    /// Sends the request and reads the answer, with a trace of both.
    async fn call_model(
        &mut self,
        rendered: &Rendered,
        emit: &mut impl FnMut(Event),
    ) -> Result<Answer, CallError> {
        self.partial_text.clear();
        trace::sending(self);
        let span = trace::call(self);
        let mut events = self.prepare_call(rendered);
        let outcome = self.read_answer(&mut events, emit).instrument(span.clone()).await;
        if outcome.is_ok() {
            self.partial_text.clear();
        }
        trace::answered(&span, &outcome);
        outcome
    }

    /// Prepares a call to the model. The request is sent when the stream is first polled.
    fn prepare_call(&self, rendered: &Rendered) -> EventStream {
        let target = self.model();
        let options = Options {
            cache_key: Some(self.cache_key()),
            max_tokens: self.config.options.max_tokens.or_else(|| self.required_limit()),
            shape: self.supported_shape(),
            max_completion_tokens: Some(target.about.max_completion_tokens),
            ..self.config.options.clone()
        };
        let messages: Vec<&Message> =
            self.generation.context(&self.history).chain(&self.ephemeral).collect();
        let request = Request::new(&target.name, &messages, rendered)
            .tools(&self.config.tools)
            .options(&options);
        target.model.call(request.session(&self.session.id))
    }

    /// Returns the output token limit of a wire that requires one, as it is reserved in the window;
    /// `None` if it is unknown. On other wires the provider decides.
    fn required_limit(&self) -> Option<usize> {
        let target = self.model();
        let limit = target.about.output_limit().filter(|_| requires_limit(target.model.wire()))?;
        Some(self.learned_window().map_or(limit, |window| limit.min(window / 4)))
    }

    /// Reads the events of a call until the answer is complete.
    async fn read_answer(
        &mut self,
        events: &mut EventStream,
        emit: &mut impl FnMut(Event),
    ) -> Result<Answer, CallError> {
        emit(Event::Sending { tokens: self.prompt_tokens() });
        let mut is_first = true;
        while let Some(event) = events.next().await {
            if std::mem::take(&mut is_first) && event.is_ok() {
                emit(Event::Responds);
            }
            match event? {
                ModelEvent::Delta(delta) => {
                    if let Delta::Text(text) = &delta {
                        self.partial_text.push_str(text);
                    }
                    emit(Event::Delta(delta));
                }
                ModelEvent::Raw(event) if self.emits_raw => emit(Event::Raw(event)),
                ModelEvent::Answer(answer) => return Ok(self.with_plausible_usage(answer)),
                _ => continue,
            }
            // If `emit` only queues the event, a consumer on the same thread must get a chance to
            // run.
            tokio::task::yield_now().await;
        }
        Err(CallError::no_answer(self.partial_text.clone()))
    }

    /// Removes implausible counts from the usage of an answer.
    fn with_plausible_usage(&self, mut answer: Answer) -> Answer {
        let output = estimated_tokens(&answer.messages);
        // Either size may be a guess, so a count is implausible only above the larger one.
        let window = self.budget.model_window.max(self.budget.window);
        answer.usage = plausible(answer.usage, self.prompt_tokens(), output, window);
        answer
    }

    /// Keeps what a failed call left: its partial answer, on a side branch, and its usage.
    async fn keep_failed(&mut self, error: &CallError, took: Duration) -> Result<(), SessionError> {
        let text = std::mem::take(&mut self.partial_text);
        let partial = error.partial();
        // The messages parsed from the stream are preferred; the text is all that `emit` received.
        let mut messages = partial.map(|answer| answer.messages.clone()).unwrap_or_default();
        if messages.is_empty() && !text.is_empty() {
            messages.push(Message::assistant(text));
        }
        self.keep_on_side_branch(&messages).await?;
        match partial {
            Some(answer) => self.record_usage_only(answer, took).await,
            None => Ok(()),
        }
    }

    /// Records the usage of an answer that is not part of the conversation.
    pub(crate) async fn record_usage_only(
        &self,
        answer: &Answer,
        took: Duration,
    ) -> Result<(), SessionError> {
        if answer.usage == Usage::default() {
            return Ok(());
        }
        let answer = self.with_plausible_usage(answer.clone());
        let usage = self.usage(&answer, self.session.tip.position(), took);
        let id = self.session.id.clone();
        Ok(self.write(move |log| log.record_usage(&id, usage.clone())).await?)
    }

    fn usage(&self, answer: &Answer, position: u64, took: Duration) -> StoredUsage {
        StoredUsage {
            position,
            model: self.model().name.clone(),
            input: answer.usage.input as u64,
            cache_read: answer.usage.cache_read as u64,
            cache_write: answer.usage.cache_write as u64,
            output: answer.usage.output as u64,
            price: self.model().price.as_ref().map(|price| price.millionths(&answer.usage)),
            latency: i64::try_from(took.as_millis()).ok(),
            time: self.log.now(),
        }
    }

    /// Stores an answer with its usage and the host's update, and remembers what it shows about the
    /// model: the real size of the prompt corrects our token counts.
    async fn store_answer(
        &mut self,
        answer: &Answer,
        update: HostUpdate,
        took: Duration,
    ) -> Result<(), SessionError> {
        let ephemeral_tokens: usize =
            self.ephemeral.iter().map(|message| self.history.counter().message(message)).sum();
        let counted = self.generation.tokens() + self.budget.tools + ephemeral_tokens;
        if answer.usage.prompt() > 0 {
            self.budget.calibration.observe(counted, answer.usage.prompt());
        }
        self.remember_prompt_size(answer);
        self.append(answer.messages.clone()).await?;
        // Where the tip will be once the answer is stored.
        let position = self.session.tip.position() + answer.messages.len() as u64;
        let usage = self.usage(answer, position, took);
        trace::usage(self, &usage);
        self.last_call = Some(LastCall::new(usage.time, usage.model.clone()));
        self.fold_escalation.record_call();
        self.unsaved.usage = Some(usage);
        self.unsaved.checkpoint = update.checkpoint;
        // Fails only if the stored state cannot be read, and then nothing can be stored.
        update.changes.into_iter().try_for_each(|change| self.apply_change(change))?;
        self.save_calibration();
        let stored = self.commit().await;
        if matches!(stored, Err(SessionError::Log(LogError::Conflict { .. }))) {
            // Another process changed the session in the meantime. The answer is kept on a side
            // branch.
            self.keep_on_side_branch(&answer.messages).await?;
        }
        stored
    }
}
