//! Search over the replayed messages, for policies that quote passages: the same search as in a
//! session, in memory.

use waterline::history::History;
use waterline::ledger::text_of;
use waterline::message::{Message, Role};
use waterline::plan::Passage;
use waterline_memory::{Index, Message as Indexed, Reason, excerpt};

/// Maximum number of characters of a passage, and of passages, as in a session.
const PASSAGE_CHARS: usize = 400;
const PASSAGES: usize = 24;

/// The index of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Search {
    index: Index,
    /// The message of the history that each text of the index is from.
    messages: Vec<usize>,
}

impl Search {
    pub(crate) fn add(&mut self, at: usize, message: &Message) {
        if message.role != Role::System {
            let text = text_of(message);
            let speaker = message.role.name();
            self.index.add(&Indexed::new("", speaker, &text));
            self.messages.push(at);
        }
    }

    /// Returns the passages for the newest user message, best first.
    pub(crate) fn passages(&self, history: &History) -> Vec<Passage> {
        let Some(newest) = history.latest_user() else { return Vec::new() };
        let question = history.source(newest).map(text_of).unwrap_or_default();
        let is_other = |at: usize| self.messages.get(at).is_some_and(|&message| message != newest);
        let hits = self.index.rank(&question, is_other).best(PASSAGES);
        let telling = hits.into_iter().filter(|hit| Reason::are_telling(&hit.reasons));
        let passage = |hit: waterline_memory::Hit| {
            let message = *self.messages.get(hit.message)?;
            let source = history.source(message)?;
            let text = excerpt(&text_of(source), hit.words(), PASSAGE_CHARS);
            Some(Passage::new(message, source.role, text))
        };
        telling.filter_map(passage).collect()
    }
}
