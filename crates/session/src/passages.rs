//! Supplies a plan with passages of earlier messages, for a policy that quotes what fits the newest
//! user message.

use std::sync::Arc;

use waterline::ledger::text_of;
use waterline::plan::{Passage, Search};
use waterline_memory::Reason;

use crate::between_calls::Searching;
use crate::live::LiveSession;
use crate::recall::{Passage as Found, Recall, RecallRequest};

/// Maximum number of characters of a passage.
const PASSAGE_CHARS: usize = 400;

/// How many passages are looked for per passage that is quoted: most may still be in the context.
const CANDIDATES: usize = 8;

impl LiveSession {
    /// Searches with an index that the host program uses too.
    pub fn search_with(&mut self, recall: Arc<Recall>) {
        self.recall = recall;
    }

    /// Returns the passages for the newest user message if that message is about to be sent for the
    /// first time; `None` if it is not, or if the policy quotes none.
    pub(crate) async fn passages_for_new(&mut self) -> Option<Vec<Passage>> {
        let newest = self.history.latest_user()?;
        if newest < self.generation.covered() {
            return None;
        }
        self.passages().await
    }

    /// Returns the passages for the newest user message, best first; `None` if the policy quotes
    /// none. A search that takes longer than the policy allows finds nothing. It continues in the
    /// background, and the next one uses the index that it built.
    pub(crate) async fn passages(&mut self) -> Option<Vec<Passage>> {
        let search = self.policy().search()?;
        if self.searching.as_ref().is_some_and(|running| !running.is_finished()) {
            return Some(Vec::new());
        }
        let newest = self.history.latest_user()?;
        let text = self.history.source(newest).map(text_of).unwrap_or_default();
        let mut running = self.start_search(search, text);
        let Ok(found) = tokio::time::timeout(search.timeout, &mut running).await else {
            tracing::debug!(
                target: "waterline::context",
                session = %self.session.id,
                "the search for passages takes too long"
            );
            self.searching = Some(running);
            return Some(Vec::new());
        };
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!(
                    target: "waterline::context",
                    session = %self.session.id,
                    %error,
                    "could not search for passages"
                );
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        Some(found.into_iter().filter_map(|passage| self.to_quote(passage, newest)).collect())
    }

    fn start_search(&self, search: Search, text: String) -> Searching {
        let log = self.log.clone();
        let id = self.session.id.clone();
        let recall = Arc::clone(&self.recall);
        tokio::spawn(async move {
            let work = move |log: &waterline_log::Log| {
                let question = (recall.clean)(&text);
                let count = search.passages * CANDIDATES;
                let request =
                    RecallRequest { question, count, chars: PASSAGE_CHARS, before: u64::MAX };
                recall.search(log, &id, &request)
            };
            log.run(work).await
        })
    }

    /// Converts a search result to a passage for the plan. Returns `None` for a cleared message,
    /// for the newest message itself, and if the match is too weak to quote.
    fn to_quote(&self, found: Found, newest: usize) -> Option<Passage> {
        let Found { position, role, text, reasons, .. } = found;
        let message = usize::try_from(position.checked_sub(self.cleared + 1)?).ok()?;
        (message != newest && Reason::are_telling(&reasons))
            .then(|| Passage::new(message, role, text))
    }
}
