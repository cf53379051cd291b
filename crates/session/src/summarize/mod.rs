//! Summaries of the messages that a fold drops, made before the call or in the background. If a
//! summary fails or is unusable, the digest, made without a model, replaces it.

mod background;
mod daily;
mod gate;
mod job;
mod material;
mod rules;
mod stored;
mod work;

use std::sync::Arc;

use waterline::message::Message;
use waterline::plan::{Slot, SummaryRequest, Treatment};
use waterline::stage::Mode;
use waterline::summary::{Summary, Wording, digest, schema::SummaryFormat};

use crate::between_calls::Pending;
use crate::config::ModelTarget;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::notice::Notice;
use background::Background;
use gate::Made;
use work::Work;

/// Maximum number of tokens of a digest for the memory.
pub(crate) const DIGEST_TOKENS: usize = 4_000;

impl LiveSession {
    /// Makes the summary that a fold needs before its call.
    pub(crate) async fn summarize(
        &mut self,
        wanted: &SummaryRequest,
        emit: &mut impl FnMut(Event),
    ) -> Result<Option<Summary>, SessionError> {
        let Some((work, sources)) = self.work(wanted, true).await? else { return Ok(None) };
        emit(Event::Summarizing);
        let user_texts = self.user_texts(&self.unsummarized(&sources).await?);
        match work.run().await {
            Ok(Made { text, rules, .. }) if !text.is_empty() => {
                rules::add(&self.rules, rules::confirmed(&rules, &user_texts));
                tracing::info!(
                    target: "waterline::summary",
                    session = %self.session.id,
                    messages = sources.len(),
                    "summary made"
                );
                self.store(&sources, &text, self.generation.number).await?;
                Ok(Some(Summary::new(sources, text)))
            }
            Ok(_) => Ok(None),
            Err(why) => {
                tracing::warn!(
                    target: "waterline::summary",
                    session = %self.session.id,
                    %why,
                    "no summary; using a digest"
                );
                emit(Event::Notice(Notice::NoSummary { why }));
                Ok(None)
            }
        }
    }

    /// Starts a summary in the background, for the generation that a fold is about to start. When
    /// ready, it is stored, its memory parts go to the memory, and the context has it from the next
    /// turn on.
    pub(crate) async fn start_summary(
        &mut self,
        wanted: &SummaryRequest,
    ) -> Result<(), SessionError> {
        let Some((work, sources)) = self.work(wanted, true).await? else { return Ok(()) };
        let generation = self.generation.number + 1;
        let job = self.add_summary_job(wanted, generation).await?;
        self.run_in_background(wanted, work, sources, generation, job).await
    }

    /// Makes a summary in the background, stores it, and completes its job. Of several processes
    /// that make it, the one that completes the job writes the memory.
    async fn run_in_background(
        &mut self,
        wanted: &SummaryRequest,
        work: Work,
        sources: Vec<usize>,
        generation: u64,
        job: i64,
    ) -> Result<(), SessionError> {
        let row = self.row(&sources, generation).await?;
        // What earlier folds dropped is in the memory already.
        let new = match generation > self.generation.number {
            true => self.not_dropped_before(&sources),
            false => self.unsummarized(&sources).await?,
        };
        let for_memory = wanted.schema.form == SummaryFormat::Sections;
        let background = Background {
            work,
            fallback: digest(&self.history, &new, DIGEST_TOKENS),
            row,
            job,
            log: self.log.clone(),
            fence: self.fence(),
            session: self.session.id.clone(),
            counter: *self.history.counter(),
            memory: self.config.memory.clone().filter(|_| for_memory),
            source: self.source_of(&sources),
            user_texts: self.user_texts(&self.unsummarized(&sources).await?),
            rules: Arc::clone(&self.rules),
        };
        let task = tokio::spawn(background.run());
        self.pending = Some(Pending { generation, sources, for_memory, task, made: None });
        Ok(())
    }

    /// Keeps the summary in progress for the generation that a fold is about to start, if it covers
    /// the same messages. Returns whether it does.
    pub(crate) fn continue_summary(&mut self, wanted: &SummaryRequest) -> bool {
        let next = self.generation.number + 1;
        let same = self.pending.as_mut().filter(|pending| pending.sources == wanted.sources);
        same.map(|pending| pending.generation = next).is_some()
    }

    /// Returns the background summary, if it is ready and its generation is still current.
    pub(crate) async fn ready_summary(&mut self) -> Result<Option<Summary>, SessionError> {
        // New messages are stored before waiting.
        self.commit().await?;
        let is_first = self.may_have_summary;
        if let Some(summary) = self.stored_summary().await {
            return Ok(Some(summary));
        }
        if is_first && self.pending.is_none() {
            self.resume_summary().await?;
        }
        if self.pending.as_ref().is_some_and(|pending| pending.generation != self.generation.number)
        {
            self.pending = None;
        }
        if !self
            .pending
            .as_ref()
            .is_some_and(|pending| pending.made.is_some() || pending.task.is_finished())
        {
            return Ok(None);
        }
        let Some(mut pending) = self.pending.take() else { return Ok(None) };
        pending.wait().await;
        let made = pending.made.take().flatten();
        Ok(made.map(|text| Summary::new(std::mem::take(&mut pending.sources), text)))
    }

    /// Whether a background summary may be ready, from this process or an earlier one.
    pub(crate) fn may_be_ready(&self) -> bool {
        let has_summary =
            || self.generation.slots().iter().any(|slot| slot.treatment == Treatment::Summary);
        self.pending.is_some() || self.may_have_summary && has_summary()
    }

    /// Returns a summary of the current generation that an earlier process made but did not use.
    async fn stored_summary(&mut self) -> Option<Summary> {
        if !std::mem::take(&mut self.may_have_summary) {
            return None;
        }
        let id = self.session.id.clone();
        let read =
            self.on_log(move |log| Ok((log.summary(&id)?, log.generations(&id)?))).await.ok()?;
        let (Some(stored), generations) = read else { return None };
        let number = self.generation.number;
        // A later fold may have been undone, and with it this summary.
        if generations.iter().any(|fold| fold.number > number) {
            return None;
        }
        let replaces_messages =
            |slot: &&Slot| slot.treatment == Treatment::Summary && !slot.sources.is_empty();
        let slot = self.generation.slots().iter().find(replaces_messages)?;
        let covered = slot.sources.iter().copied().filter(|&source| self.covers(&stored, source));
        let sources: Vec<usize> = covered.collect();
        (stored.generation == Some(number) && !sources.is_empty())
            .then(|| Summary::new(sources, stored.text))
    }

    /// Waits for the background summary and the daily memory, before a program exits.
    pub async fn finish(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.wait().await;
        }
        if let Some(writing) = self.memory_write.take() {
            writing.await.ok();
        }
    }

    /// Prepares a summary: the work and the messages it will cover; `None` if no model can make it.
    /// The last context sent may be reused only before the fold that the summary is for.
    async fn work(
        &self,
        wanted: &SummaryRequest,
        before_fold: bool,
    ) -> Result<Option<(Work, Vec<usize>)>, SessionError> {
        let own = self.config.target(self.at);
        let target = self.config.summariser.as_ref().unwrap_or(own);
        if !target.model.can_summarize() {
            return Ok(None);
        }
        let is_own = self.config.summariser.is_none();
        let prefix = if is_own && before_fold { self.prefix(wanted) } else { None };
        let covered = self.generation.covered();
        let sources: Vec<usize> = wanted
            .sources
            .iter()
            .copied()
            .filter(|&source| prefix.is_none() || source < covered)
            .collect();
        let earlier = self.earlier(&sources).await?;
        let rest = self.not_covered(&sources, earlier.as_ref());
        let room = self.room_for(target, wanted);
        let work = Work {
            name: target.name.clone(),
            model: Arc::clone(&target.model),
            has_fixed_temperature: target.about.fixed_temperature,
            max_completion_tokens: target.about.max_completion_tokens,
            retry: self.config.retry.clone(),
            counter: *self.history.counter(),
            session: self.session.id.clone(),
            cache_key: self.cache_key(),
            schema: Arc::clone(&wanted.schema),
            max_tokens: wanted.max_tokens,
            replaced_tokens: wanted.replaced_tokens,
            prefix,
            parts: material::parts(&self.history, &rest, room),
            earlier: earlier.map(|earlier| earlier.text),
            request: self.request(wanted),
        };
        Ok(Some((work, sources)))
    }

    /// Returns the request for a summary, with the topic to focus on.
    fn request(&self, wanted: &SummaryRequest) -> String {
        let request = &wanted.schema.request;
        match &self.focus {
            Some(focus) => {
                let focus = Wording::of(wanted.schema.language).focus(&focus.topic);
                format!("{request}\n\n{focus}")
            }
            None => request.clone(),
        }
    }

    /// Returns the last context sent, if the request still fits after it.
    fn prefix(
        &self,
        wanted: &SummaryRequest,
    ) -> Option<(Vec<Message>, Vec<waterline_provider::wire::Tool>)> {
        let request = self.history.counter().message(&Message::user(&wanted.schema.request));
        let tokens = self.generation.tokens() + self.budget.tools + request;
        let covers =
            wanted.sources.first().is_some_and(|&source| source < self.generation.covered());
        let own =
            self.model().window.is_none() && self.model_stats().window(self.log.now()).is_none();
        // A summary is shorter than the longest answer, so the request may use the space reserved
        // for it, if the window is known exactly.
        let spare = if own { self.model.output.saturating_sub(wanted.max_tokens) } else { 0 };
        let fits = covers
            && self.budget.calibration.to_provider_tokens(tokens) <= self.budget.window + spare;
        fits.then(|| {
            (self.generation.context(&self.history).cloned().collect(), self.config.tools.clone())
        })
    }

    /// Returns the tokens of material that the summarizer can read at once.
    fn room_for(&self, target: &ModelTarget, wanted: &SummaryRequest) -> usize {
        let known = target.about.input_window();
        let window = if self.config.summariser.is_some() {
            target.window.unwrap_or(known)
        } else {
            self.budget.window
        };
        let request = self.history.counter().text(&wanted.schema.request);
        let window = self.budget.calibration.to_counter_tokens(window);
        let room = window.saturating_sub(request + 2 * wanted.max_tokens);
        // A margin for the text around the material and for an inexact counter.
        room.max(window / 3) * 9 / 10
    }
}

/// Whether the call must wait for the summary.
pub(crate) const fn is_blocking(wanted: &SummaryRequest) -> bool {
    matches!(wanted.mode, Mode::Blocking)
}
