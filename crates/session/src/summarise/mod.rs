//! Summaries of what a fold drops: before the call, or beside it. One that cannot be had or
//! believed costs nothing but the attempt: the digest, made without a model, stands in its place.

mod gate;
mod material;
mod work;

use std::sync::Arc;

use waterline::message::Message;
use waterline::plan::{Treatment, Wanted};
use waterline::stage::Mode;
use waterline::summary::{Summary, digest, schema::Form};
use waterline_log::Summary as Stored;

use crate::between_calls::Pending;
use crate::config::ModelTarget;
use crate::error::SessionError;
use crate::event::Event;
use crate::live::LiveSession;
use crate::memory::Section;
use gate::Made;
use work::Work;

/// Tokens of a rule-made memory, where no model made one.
const DIGEST_TOKENS: usize = 4_000;

impl LiveSession {
    /// Has the summary made that a fold wants before its call.
    pub(crate) async fn summarise(
        &mut self,
        wanted: &Wanted,
        emit: &mut impl FnMut(Event),
    ) -> Result<Option<Summary>, SessionError> {
        let Some((work, sources)) = self.work(wanted).await? else { return Ok(None) };
        emit(Event::Summarising);
        match work.run().await {
            Ok(Made { text, .. }) if !text.is_empty() => {
                tracing::info!(target: "waterline::summary", session = %self.session.id, messages = sources.len(), "summary made");
                self.store(&sources, &text, self.generation.number).await?;
                Ok(Some(Summary { sources, text }))
            }
            Ok(_) => Ok(None),
            Err(why) => {
                tracing::warn!(target: "waterline::summary", session = %self.session.id, %why, "no summary; a digest serves");
                Ok(None)
            }
        }
    }

    /// Lets a summary be made beside the calls, for the generation that a fold is about to begin.
    /// It is stored when it is there, and what is for the memory goes there; the context has it
    /// from the next turn on.
    pub(crate) async fn begin_summary(&mut self, wanted: &Wanted) -> Result<(), SessionError> {
        let Some((work, sources)) = self.work(wanted).await? else {
            self.flush(Section::Trimmed, &wanted.sources).await;
            return Ok(());
        };
        let generation = self.generation.number + 1;
        let row = self.row(&sources, generation).await?;
        let fallback = digest(&self.history, &sources, DIGEST_TOKENS);
        let (log, id, memory, counter) = (
            self.log.clone(),
            self.session.id.clone(),
            self.config.memory.clone(),
            *self.history.counter(),
        );
        let for_memory = wanted.schema.form == Form::Sections;
        let task = tokio::spawn(async move {
            let (text, daily, lasting) = match work.run().await {
                Ok(made) => (made.text, made.daily, made.lasting),
                Err(why) => {
                    tracing::warn!(target: "waterline::summary", session = %id, %why, "no summary; a digest serves");
                    (String::new(), fallback, String::new())
                }
            };
            let made = text.clone();
            let stored = log.run(move |log| {
                if let Some(memory) = memory.filter(|_| for_memory) {
                    let kept =
                        memory.keep(Section::Trimmed, &daily).and_then(|()| memory.keep(Section::Notes, &lasting));
                    if let Err(error) = kept {
                        tracing::warn!(target: "waterline::memory", %error, "a memory was not written");
                    }
                }
                let tokens = counter.text(&text);
                if !text.is_empty()
                    && let Err(error) = log.summarise(&id, Stored { text, tokens, ..row })
                {
                    tracing::warn!(target: "waterline::summary", %error, "a summary was not stored");
                }
                Ok(())
            });
            stored.await.ok().filter(|()| !made.is_empty()).map(|()| made)
        });
        self.pending = Some(Pending { generation, sources, task, made: None });
        Ok(())
    }

    /// The summary that was made beside the calls, if it is there and its generation still is.
    pub(crate) async fn ready_summary(&mut self) -> Result<Option<Summary>, SessionError> {
        // What was said is stored before anything is waited for.
        self.commit().await?;
        if let Some(summary) = self.stored_summary().await {
            return Ok(Some(summary));
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

    /// Whether a summary may be there that was made beside the calls, by this process or an earlier
    /// one.
    pub(crate) fn may_be_ready(&self) -> bool {
        let is_summed_up =
            || self.generation.slots().iter().any(|slot| slot.treatment == Treatment::Summary);
        self.pending.is_some() || self.may_have_summary && is_summed_up()
    }

    /// A summary that an earlier process had made for what is sent, and did not come to use.
    async fn stored_summary(&mut self) -> Option<Summary> {
        if !std::mem::take(&mut self.may_have_summary) {
            return None;
        }
        let id = self.session.id.clone();
        let read =
            self.on_log(move |log| Ok((log.summary(&id)?, log.generations(&id)?))).await.ok()?;
        let (Some(stored), generations) = read else { return None };
        let number = self.generation.number;
        // A later fold may have been taken back, and with it this summary.
        if generations.iter().any(|fold| fold.number > number) {
            return None;
        }
        let slot =
            self.generation.slots().iter().find(|slot| slot.treatment == Treatment::Summary)?;
        let covered = slot.sources.iter().copied().filter(|&source| self.covers(&stored, source));
        let sources: Vec<usize> = covered.collect();
        (stored.generation == Some(number) && !sources.is_empty())
            .then_some(Summary { sources, text: stored.text })
    }

    /// Waits until nothing is made beside the calls any more: for programs that end.
    pub async fn finish(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.wait().await;
        }
    }

    /// Writes a digest of messages to the memory, made without a model.
    pub(crate) async fn flush(&self, section: Section, sources: &[usize]) {
        let Some(memory) = self.config.memory.clone() else { return };
        let text = digest(&self.history, sources, DIGEST_TOKENS);
        let kept = tokio::task::spawn_blocking(move || memory.keep(section, &text)).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!(target: "waterline::memory", %error, "a memory was not written");
        }
    }

    /// What it takes to make a summary, and the messages it will cover; nothing where no model can
    /// be asked.
    async fn work(&self, wanted: &Wanted) -> Result<Option<(Work, Vec<usize>)>, SessionError> {
        let own = self.config.candidate(self.at);
        let candidate = self.config.summariser.as_ref().unwrap_or(own);
        if !candidate.model.can_summarise() {
            return Ok(None);
        }
        let is_own = self.config.summariser.is_none();
        let prefix = if is_own { self.prefix(wanted) } else { None };
        let covered = self.generation.covered();
        let sources: Vec<usize> = wanted
            .sources
            .iter()
            .copied()
            .filter(|&source| prefix.is_none() || source < covered)
            .collect();
        let earlier = self.earlier(&sources).await?;
        let rest: Vec<usize> = match &earlier {
            Some(earlier) => {
                sources.iter().copied().filter(|&source| !self.covers(earlier, source)).collect()
            }
            None => sources.clone(),
        };
        let room = self.room_for(candidate, wanted);
        let work = Work {
            name: candidate.name.clone(),
            model: Arc::clone(&candidate.model),
            has_fixed_temperature: candidate.about.fixed_temperature,
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

    /// What a summary is asked with, and what the user wants to see in it above all.
    fn request(&self, wanted: &Wanted) -> String {
        let request = &wanted.schema.request;
        match &self.focus {
            Some(focus) => format!("{request}\n\nAbove all keep what is about: {}", focus.words),
            None => request.clone(),
        }
    }

    /// The conversation as it was sent last, if the request still fits behind it.
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
        // A summary is shorter than an answer may be: what is kept free for one serves the request,
        // where all is known.
        let spare = if own { self.model.output.saturating_sub(wanted.max_tokens) } else { 0 };
        let fits = covers && self.budget.calibration.correct(tokens) <= self.budget.window + spare;
        fits.then(|| {
            (self.generation.context(&self.history).cloned().collect(), self.config.tools.clone())
        })
    }

    /// The tokens of material that a summariser can read at once.
    fn room_for(&self, candidate: &ModelTarget, wanted: &Wanted) -> usize {
        let known = candidate.about.input_window();
        let window = if self.config.summariser.is_some() {
            candidate.window.unwrap_or(known)
        } else {
            self.budget.window
        };
        let request = self.history.counter().text(&wanted.schema.request);
        let window = self.budget.calibration.uncorrect(window);
        let room = window.saturating_sub(request + 2 * wanted.max_tokens);
        // A little is left for what surrounds the material, and for a counter that is a little off.
        room.max(window / 3) * 9 / 10
    }

    /// The summary there was before, as far as it covers what is folded now: better than a digest
    /// while there is no newer one.
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

    /// The newest summary that holds, if what it covers is about to be summed up again.
    async fn earlier(&self, sources: &[usize]) -> Result<Option<Stored>, SessionError> {
        let id = self.session.id.clone();
        let stored = self.on_log(move |log| log.summary(&id)).await?;
        let (Some(first), Some(last)) = (sources.first(), sources.last()) else { return Ok(None) };
        let (first, last) = (self.position(*first), self.position(*last));
        Ok(stored.filter(|stored| stored.start + 1 >= first && stored.until <= last))
    }

    fn covers(&self, summary: &Stored, source: usize) -> bool {
        (summary.start + 1..=summary.until).contains(&self.position(source))
    }

    /// The place of a message in the session, from 1.
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
        let (id, text, tokens) =
            (self.session.id.clone(), text.to_owned(), self.history.counter().text(text));
        self.on_log(move |log| log.summarise(&id, Stored { text, tokens, ..row })).await.map(drop)
    }

    /// A summary as it is stored, without its words (S3.13).
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

/// Whether a call waits for a summary.
pub(crate) const fn is_blocking(wanted: &Wanted) -> bool {
    matches!(wanted.mode, Mode::Blocking)
}
