//! The summaries of a session in the log: the newest one, which messages it covers, and storing the
//! next.

use waterline::plan::SummaryRequest;
use waterline::summary::Summary;
use waterline_log::Summary as Stored;

use crate::error::SessionError;
use crate::live::LiveSession;

impl LiveSession {
    /// Returns the previous summary for those of the wanted messages that it covers. It is better
    /// than a digest until a newer one exists.
    pub(crate) async fn earlier_summary(
        &self,
        wanted: &SummaryRequest,
    ) -> Result<Option<Summary>, SessionError> {
        let earlier = self.earlier(&wanted.sources).await?;
        Ok(earlier.map(|earlier| {
            let sources = wanted
                .sources
                .iter()
                .copied()
                .filter(|&source| self.covers(&earlier, source))
                .collect();
            Summary::new(sources, earlier.text)
        }))
    }

    /// Returns the newest valid summary, if its messages are about to be summarized again.
    pub(super) async fn earlier(&self, sources: &[usize]) -> Result<Option<Stored>, SessionError> {
        let id = self.session.id.clone();
        let stored = self.on_log(move |log| log.summary(&id)).await?;
        let (Some(first), Some(last)) = (sources.first(), sources.last()) else { return Ok(None) };
        let first_position = self.position(*first);
        let last_position = self.position(*last);
        Ok(stored
            .filter(|stored| stored.start + 1 >= first_position && stored.until <= last_position))
    }

    /// Returns the messages that the newest summary does not cover.
    pub(super) async fn unsummarized(&self, sources: &[usize]) -> Result<Vec<usize>, SessionError> {
        let earlier = self.earlier(sources).await?;
        Ok(self.not_covered(sources, earlier.as_ref()))
    }

    pub(super) fn not_covered(&self, sources: &[usize], summary: Option<&Stored>) -> Vec<usize> {
        let is_covered =
            |source: usize| summary.is_some_and(|summary| self.covers(summary, source));
        sources.iter().copied().filter(|&source| !is_covered(source)).collect()
    }

    pub(super) fn covers(&self, summary: &Stored, source: usize) -> bool {
        (summary.start + 1..=summary.until).contains(&self.position(source))
    }

    /// Returns the position of a message in the session, from 1.
    pub(crate) const fn position(&self, index: usize) -> u64 {
        self.cleared + index as u64 + 1
    }

    pub(super) async fn store(
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
    pub(super) async fn row(
        &self,
        sources: &[usize],
        generation: u64,
    ) -> Result<Stored, SessionError> {
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
