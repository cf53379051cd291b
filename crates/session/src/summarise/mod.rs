//! Summaries of the messages that a fold drops, made before the call or in the background. If a
//! summary fails or is unusable, the digest, made without a model, replaces it.

mod gate;
mod job;
mod material;
mod rules;
mod work;

use std::sync::Arc;

use waterline::message::Message;
use waterline::plan::{Slot, Treatment, Wanted};
use waterline::stage::Mode;
use waterline::summary::{Language, Schema, Summary, digest, schema::Form};
use waterline_log::{Log, Summary as Stored};
use waterline_memory::{Memory, Section, Source};

use crate::between_calls::Pending;
use crate::config::ModelTarget;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use gate::Made;
use work::Work;

/// The most tokens of a summary for the memory.
const DAILY_TOKENS: usize = 2_000;

/// The most tokens of a digest for the memory.
pub(crate) const DIGEST_TOKENS: usize = 4_000;

impl LiveSession {
    /// Makes the summary that a fold needs before its call.
    pub(crate) async fn summarise(
        &mut self,
        wanted: &Wanted,
        emit: &mut impl FnMut(Event),
    ) -> Result<Option<Summary>, SessionError> {
        let Some((work, sources)) = self.work(wanted, true).await? else { return Ok(None) };
        emit(Event::Summarising);
        let user_texts = self.user_texts(&self.unsummarised(&sources).await?);
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
                Ok(Some(Summary { sources, text }))
            }
            Ok(_) => Ok(None),
            Err(why) => {
                tracing::warn!(
                    target: "waterline::summary",
                    session = %self.session.id,
                    %why,
                    "no summary; using a digest"
                );
                Ok(None)
            }
        }
    }

    /// Starts a summary in the background, for the generation that a fold is about to start. When
    /// ready, it is stored, its memory parts go to the memory, and the context has it from the next
    /// turn on.
    pub(crate) async fn start_summary(&mut self, wanted: &Wanted) -> Result<(), SessionError> {
        let Some((work, sources)) = self.work(wanted, true).await? else { return Ok(()) };
        let generation = self.generation.number + 1;
        let job = self.add_summary_job(wanted, generation).await?;
        self.run_in_background(wanted, work, sources, generation, job).await
    }

    /// Makes a summary in the background, stores it, and completes its job. Of several processes
    /// that make it, the one that completes the job writes the memory.
    async fn run_in_background(
        &mut self,
        wanted: &Wanted,
        work: Work,
        sources: Vec<usize>,
        generation: u64,
        job: i64,
    ) -> Result<(), SessionError> {
        let row = self.row(&sources, generation).await?;
        // What earlier folds dropped is in the memory already.
        let new = match generation > self.generation.number {
            true => self.not_dropped_before(&sources),
            false => self.unsummarised(&sources).await?,
        };
        let fallback = digest(&self.history, &new, DIGEST_TOKENS);
        let log = self.log.clone();
        let fence = self.fence();
        let id = self.session.id.clone();
        let memory = self.config.memory.clone();
        let source = self.source_of(&sources);
        let counter = *self.history.counter();
        let for_memory = wanted.schema.form == Form::Sections;
        let user_texts = self.user_texts(&self.unsummarised(&sources).await?);
        let named = Arc::clone(&self.rules);
        let task = tokio::spawn(async move {
            let made = match work.run().await {
                Ok(made) => made,
                Err(why) => {
                    tracing::warn!(
                        target: "waterline::summary",
                        session = %id,
                        %why,
                        "no summary; using a digest"
                    );
                    Made { daily: fallback, ..Made::default() }
                }
            };
            let Made { text, daily, lasting, rules } = made;
            let summary = Stored { tokens: counter.text(&text), text: text.clone(), ..row };
            let finish = move |log: &Log| {
                fence.check(log)?;
                if !summary.text.is_empty() {
                    log.add_summary(&id, summary.clone())?;
                }
                log.claim_job(job)
            };
            let is_own = match log.write(finish).await {
                Ok(is_own) => is_own,
                Err(error) => {
                    tracing::warn!(
                        target: "waterline::summary",
                        %error,
                        "could not store a summary"
                    );
                    return None;
                }
            };
            if is_own {
                rules::add(&named, rules::confirmed(&rules, &user_texts));
            }
            if let Some(memory) = memory.filter(|_| for_memory && is_own) {
                let parts = [(Section::Trimmed, daily), (Section::Notes, lasting)];
                keep_in_memory(memory, parts, source).await;
            }
            Some(text).filter(|text| !text.is_empty())
        });
        self.pending = Some(Pending { generation, sources, for_memory, task, made: None });
        Ok(())
    }

    /// Lets the summary that is being made serve the generation that a fold is about to start, if
    /// it is about the same messages. Returns whether there is one.
    pub(crate) fn continue_summary(&mut self, wanted: &Wanted) -> bool {
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
        Ok(made.map(|text| Summary { sources: std::mem::take(&mut pending.sources), text }))
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
            .then_some(Summary { sources, text: stored.text })
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

    /// Returns where a memory of these messages is from: the newest of them.
    pub(crate) fn source_of(&self, sources: &[usize]) -> Source {
        let newest = sources.iter().max().and_then(|&newest| self.history.number(newest));
        Source { session: self.session.id.clone(), message: newest.unwrap_or_default() as u64 }
    }

    /// Writes a digest of messages, made without a model, to the memory.
    async fn flush(&self, section: Section, sources: &[usize]) {
        let Some(memory) = self.config.memory.clone() else { return };
        let text = digest(&self.history, sources, DIGEST_TOKENS);
        let source = self.source_of(sources);
        let keep = move || memory.keep(section, &text, Some(&source));
        let kept = tokio::task::spawn_blocking(keep).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!(target: "waterline::memory", %error, "could not write a memory");
        }
    }

    /// Writes a model's summary of these messages to the memory, before a context that was too long
    /// is folded. If there is no model or it fails, a digest is written.
    pub(crate) async fn remember(&self, sources: &[usize]) {
        let Some(memory) = self.config.memory.clone() else { return };
        let made = match self.daily_work(sources) {
            Some(work) => work.run().await.ok(),
            None => None,
        };
        let Some(Made { daily, lasting, .. }) = made.filter(|made| !made.daily.is_empty()) else {
            self.flush(Section::Overflow, sources).await;
            return;
        };
        let parts = [(Section::Overflow, daily), (Section::Notes, lasting)];
        keep_in_memory(memory, parts, self.source_of(sources)).await;
    }

    /// Prepares a summary for the memory. The messages go as text in parts, because the context
    /// itself is too long.
    fn daily_work(&self, sources: &[usize]) -> Option<Work> {
        let target = self.config.summariser.as_ref().unwrap_or(self.config.target(self.at));
        let schema = Schema::localized("daily", Language::of_history(&self.history))?;
        let window = target.window.unwrap_or_else(|| target.about.input_window());
        // The model has just refused a prompt, so its window may be smaller than it is said to be.
        let room = self.budget.calibration.uncorrect(window.min(self.prompt_tokens()) / 2);
        target.model.can_summarise().then(|| Work {
            name: target.name.clone(),
            model: Arc::clone(&target.model),
            has_fixed_temperature: target.about.fixed_temperature,
            max_completion_tokens: target.about.max_completion_tokens,
            retry: self.config.retry.clone(),
            counter: *self.history.counter(),
            cache_key: self.session.id.clone(),
            request: schema.request.clone(),
            schema,
            max_tokens: DAILY_TOKENS,
            replaces: sources.iter().map(|&source| self.history.message_tokens(source)).sum(),
            prefix: None,
            parts: material::parts(&self.history, sources, room),
            earlier: None,
        })
    }

    /// Prepares a summary: the work and the messages it will cover; `None` if no model can make it.
    /// The last context sent may be reused only before the fold that the summary is for.
    async fn work(
        &self,
        wanted: &Wanted,
        before_fold: bool,
    ) -> Result<Option<(Work, Vec<usize>)>, SessionError> {
        let own = self.config.target(self.at);
        let target = self.config.summariser.as_ref().unwrap_or(own);
        if !target.model.can_summarise() {
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
            cache_key: self.session.id.clone(),
            schema: Arc::clone(&wanted.schema),
            max_tokens: wanted.max_tokens,
            replaces: wanted.replaces,
            prefix,
            parts: material::parts(&self.history, &rest, room),
            earlier: earlier.map(|earlier| earlier.text),
            request: self.request(wanted),
        };
        Ok(Some((work, sources)))
    }

    /// Returns the request for a summary, with the topic to focus on.
    fn request(&self, wanted: &Wanted) -> String {
        let request = &wanted.schema.request;
        match &self.focus {
            Some(focus) => {
                format!("{request}\n\nAbove all, keep everything about: {}", focus.topic)
            }
            None => request.clone(),
        }
    }

    /// Returns the last context sent, if the request still fits after it.
    fn prefix(
        &self,
        wanted: &Wanted,
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
        let fits = covers && self.budget.calibration.correct(tokens) <= self.budget.window + spare;
        fits.then(|| {
            (self.generation.context(&self.history).cloned().collect(), self.config.tools.clone())
        })
    }

    /// Returns the tokens of material that the summarizer can read at once.
    fn room_for(&self, target: &ModelTarget, wanted: &Wanted) -> usize {
        let known = target.about.input_window();
        let window = if self.config.summariser.is_some() {
            target.window.unwrap_or(known)
        } else {
            self.budget.window
        };
        let request = self.history.counter().text(&wanted.schema.request);
        let window = self.budget.calibration.uncorrect(window);
        let room = window.saturating_sub(request + 2 * wanted.max_tokens);
        // A margin for the text around the material and for an inexact counter.
        room.max(window / 3) * 9 / 10
    }

    /// Returns the previous summary, as far as it covers the messages that are folded now. It is
    /// better than a digest while there is no newer one.
    pub(crate) async fn earlier_summary(
        &self,
        wanted: &Wanted,
    ) -> Result<Option<Summary>, SessionError> {
        let earlier = self.earlier(&wanted.sources).await?;
        Ok(earlier.map(|earlier| {
            let sources = wanted
                .sources
                .iter()
                .copied()
                .filter(|&source| self.covers(&earlier, source))
                .collect();
            Summary { sources, text: earlier.text }
        }))
    }

    /// Returns the newest valid summary, if its messages are about to be summarized again.
    async fn earlier(&self, sources: &[usize]) -> Result<Option<Stored>, SessionError> {
        let id = self.session.id.clone();
        let stored = self.on_log(move |log| log.summary(&id)).await?;
        let (Some(first), Some(last)) = (sources.first(), sources.last()) else { return Ok(None) };
        let first_position = self.position(*first);
        let last_position = self.position(*last);
        Ok(stored
            .filter(|stored| stored.start + 1 >= first_position && stored.until <= last_position))
    }

    /// Returns the messages that the newest summary does not cover.
    async fn unsummarised(&self, sources: &[usize]) -> Result<Vec<usize>, SessionError> {
        let earlier = self.earlier(sources).await?;
        Ok(self.not_covered(sources, earlier.as_ref()))
    }

    fn not_covered(&self, sources: &[usize], summary: Option<&Stored>) -> Vec<usize> {
        let is_covered =
            |source: usize| summary.is_some_and(|summary| self.covers(summary, source));
        sources.iter().copied().filter(|&source| !is_covered(source)).collect()
    }

    fn covers(&self, summary: &Stored, source: usize) -> bool {
        (summary.start + 1..=summary.until).contains(&self.position(source))
    }

    /// Returns the position of a message in the session, from 1.
    pub(crate) const fn position(&self, index: usize) -> u64 {
        self.cleared + index as u64 + 1
    }

    async fn store(
        &self,
        sources: &[usize],
        text: &str,
        generation: u64,
    ) -> Result<(), SessionError> {
        let row = self.row(sources, generation).await?;
        let id = self.session.id.clone();
        let tokens = self.history.counter().text(text);
        let summary = Stored { text: text.to_owned(), tokens, ..row };
        self.write(move |log| log.add_summary(&id, summary.clone())).await?;
        Ok(())
    }

    /// Returns the stored form of a summary, without its text (S3.13).
    async fn row(&self, sources: &[usize], generation: u64) -> Result<Stored, SessionError> {
        let tip = self.session.tip;
        let target = self.on_log(move |log| log.id_at(tip)).await?;
        Ok(Stored {
            version: 0,
            start: sources.first().map_or(0, |&first| self.position(first) - 1),
            until: sources.last().map_or(0, |&last| self.position(last)),
            target,
            generation: Some(generation),
            text: String::new(),
            tokens: 0,
            original_tokens: sources
                .iter()
                .map(|&source| self.history.message_tokens(source))
                .sum(),
            time: 0,
        })
    }
}

/// Writes parts of a summary to the memory. A failure is only reported in the program's log: the
/// summary itself is stored.
async fn keep_in_memory(memory: Arc<Memory>, parts: [(Section, String); 2], source: Source) {
    let keep = move || {
        parts.into_iter().try_for_each(|(section, text)| memory.keep(section, &text, Some(&source)))
    };
    if let Ok(Err(error)) = tokio::task::spawn_blocking(keep).await {
        tracing::warn!(target: "waterline::memory", %error, "could not write a memory");
    }
}

/// Whether the call must wait for the summary.
pub(crate) const fn is_blocking(wanted: &Wanted) -> bool {
    matches!(wanted.mode, Mode::Blocking)
}
