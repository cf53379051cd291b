//! What goes to the memory across sessions when messages leave the context: a model's summary of
//! them, or a digest.

use std::sync::Arc;

use waterline::summary::{Language, Schema, digest};
use waterline_memory::{Memory, Section, Source};

use super::gate::Made;
use super::work::Work;
use super::{DIGEST_TOKENS, material};
use crate::live::LiveSession;

/// Maximum number of tokens of a summary for the memory.
const DAILY_TOKENS: usize = 2_000;

impl LiveSession {
    /// Returns where a memory of these messages is from: the newest of them.
    pub(crate) fn source_of(&self, sources: &[usize]) -> Source {
        let newest = sources.iter().max().and_then(|&newest| self.history.number(newest));
        Source::new(&self.session.id, newest.unwrap_or_default() as u64)
    }

    /// Writes a digest of messages, made without a model, to the memory.
    pub(super) async fn flush(&self, section: Section, sources: &[usize]) {
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
    /// is folded. Without a model, or if it fails, a digest is written.
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
        // The model has just refused a prompt, so its window may be smaller than reported.
        let room = self.budget.calibration.to_counter_tokens(window.min(self.prompt_tokens()) / 2);
        target.model.can_summarize().then(|| Work {
            name: target.name.clone(),
            model: Arc::clone(&target.model),
            has_fixed_temperature: target.about.fixed_temperature,
            max_completion_tokens: target.about.max_completion_tokens,
            retry: self.config.retry.clone(),
            counter: *self.history.counter(),
            session: self.session.id.clone(),
            cache_key: self.cache_key(),
            request: schema.request.clone(),
            schema,
            max_tokens: DAILY_TOKENS,
            replaced_tokens: sources
                .iter()
                .map(|&source| self.history.message_tokens(source))
                .sum(),
            prefix: None,
            parts: material::parts(&self.history, sources, room),
            earlier: None,
        })
    }
}

/// Writes parts of a summary to the memory. A failure is only reported in the program's log: the
/// summary itself is stored.
pub(super) async fn keep_in_memory(
    memory: Arc<Memory>,
    parts: [(Section, String); 2],
    source: Source,
) {
    let keep = move || {
        parts.into_iter().try_for_each(|(section, text)| memory.keep(section, &text, Some(&source)))
    };
    if let Ok(Err(error)) = tokio::task::spawn_blocking(keep).await {
        tracing::warn!(target: "waterline::memory", %error, "could not write a memory");
    }
}
