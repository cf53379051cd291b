//! A summary that is made in the background, while the conversation continues.

use std::sync::Arc;

use waterline::tokens::Counter;
use waterline_log::{AsyncLog, Log, Summary as Stored};
use waterline_memory::{Memory, Section, Source};

use super::daily::keep_in_memory;
use super::gate::Made;
use super::rules::{self, UserTexts};
use super::work::Work;
use crate::between_calls::NamedRules;
use crate::lease::Fence;

/// What a summary in the background needs. It does not borrow the session.
pub(super) struct Background {
    pub(super) work: Work,
    /// For the memory, if the summary fails.
    pub(super) fallback: String,
    /// The summary as it is stored, without its text.
    pub(super) row: Stored,
    pub(super) job: i64,
    pub(super) log: AsyncLog,
    pub(super) fence: Fence,
    pub(super) session: String,
    pub(super) counter: Counter,
    /// The memory that also gets the summary, if any.
    pub(super) memory: Option<Arc<Memory>>,
    pub(super) source: Source,
    pub(super) user_texts: UserTexts,
    pub(super) rules: NamedRules,
}

impl Background {
    /// Makes the summary, stores it and completes its job. Of several processes that make it, the
    /// one that completes the job writes the memory. Returns the text for the context.
    pub(super) async fn run(self) -> Option<String> {
        let made = match self.work.run().await {
            Ok(made) => made,
            Err(why) => {
                tracing::warn!(
                    target: "waterline::summary",
                    session = %self.session,
                    %why,
                    "no summary; using a digest"
                );
                Made { daily: self.fallback, ..Made::default() }
            }
        };
        let Made { text, daily, lasting, rules } = made;
        let summary = Stored { tokens: self.counter.text(&text), text: text.clone(), ..self.row };
        let fence = self.fence;
        let session = self.session;
        let job = self.job;
        let finish = move |log: &Log| {
            fence.check(log)?;
            if !summary.text.is_empty() {
                log.add_summary(&session, summary.clone())?;
            }
            log.claim_job(job)
        };
        let is_own = match self.log.write(finish).await {
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
            rules::add(&self.rules, rules::confirmed(&rules, &self.user_texts));
        }
        if let Some(memory) = self.memory.filter(|_| is_own) {
            let parts = [(Section::Trimmed, daily), (Section::Notes, lasting)];
            keep_in_memory(memory, parts, self.source).await;
        }
        Some(text).filter(|text| !text.is_empty())
    }
}
