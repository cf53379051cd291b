//! Histories of which only the end is loaded. That is enough to extend what was sent, so a session
//! of any length resumes quickly.
//!
//! Message indexes are those of the whole history; atoms and turns are counted from the first
//! loaded message. A fold needs the whole history ([`History::is_whole`]).

use serde::{Deserialize, Serialize};

use super::{History, View};
use crate::message::Role;
use crate::tokens::Counter;

/// What planning needs to know about the messages that are not loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// How many messages there are.
    pub messages: usize,
    /// Their tokens as they were appended.
    pub tokens: usize,
    /// The tokens of the system messages among them.
    pub system_tokens: usize,
    /// The number of assistant messages among them.
    #[serde(default)]
    pub calls: usize,
}

impl History {
    /// Creates a history that continues after `past`. `shown` is what was sent: each view, and
    /// whether all messages of its slot are in the past. Their call ids stay in use.
    #[must_use]
    pub fn after<'a>(
        counter: Counter,
        past: Past,
        shown: impl Iterator<Item = (&'a View, bool)>,
    ) -> Self {
        let mut history = Self::new(counter);
        history.past = past;
        history.tokens = past.tokens;
        history.system_tokens = past.system_tokens;
        history.calls = past.calls;
        for (view, is_past) in shown {
            match view {
                View::Made(message) => {
                    message.calls().for_each(|call| history.links.hold(&call.id, is_past))
                }
                View::Source(index) => history.links.keep(*index),
            }
        }
        history
    }

    /// Returns whether every message is loaded.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.past.messages == 0
    }

    /// Returns what a history that continues from here need not load: everything before the newest
    /// atom. Later messages may still join that atom.
    #[must_use]
    pub fn past(&self) -> Past {
        let newest = self.atoms.last().and_then(|atom| atom.messages.iter().min());
        let messages = newest.copied().unwrap_or(self.len()).max(self.past.messages);
        let mut past = Past {
            messages,
            tokens: self.tokens,
            system_tokens: self.system_tokens,
            calls: self.calls,
        };
        for index in messages..self.len() {
            past.tokens -= self
                .source(index)
                .map_or(0, |message| self.counter.message(message))
                .min(past.tokens);
            match self.message(index).map(|message| message.role) {
                Some(Role::System) => {
                    past.system_tokens -= self.message_tokens(index).min(past.system_tokens)
                }
                Some(Role::Assistant) => past.calls = past.calls.saturating_sub(1),
                _ => {}
            }
        }
        past
    }
}
