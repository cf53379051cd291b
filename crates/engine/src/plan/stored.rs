//! The stored form of a generation: what was sent, slot by slot.

use serde::{Deserialize, Serialize};

use super::Generation;
use crate::draft::{Marks, Slot, Treatment};
use crate::history::{History, View};
use crate::message::Message;

/// The counts of a generation after a plan, in stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Head {
    /// The number of folds before it.
    pub number: u64,
    /// Why it was started.
    pub reason: String,
    /// How many messages of the history have a slot.
    pub covered: usize,
    /// The tokens of what was sent, without tool definitions.
    pub tokens: usize,
    pub(super) messages: usize,
    pub(super) turns: usize,
    // Stored under an older name.
    #[serde(rename = "settled")]
    pub(super) marks: Option<Marks>,
    #[serde(rename = "refused")]
    pub(super) ineffective_at: Option<usize>,
}

/// A slot in stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredSlot {
    /// The indexes of the messages it covers.
    pub sources: Vec<usize>,
    /// What was done with them.
    pub treatment: Treatment,
    /// The tokens it takes.
    pub tokens: usize,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The messages that were sent for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<StoredItem>,
    /// The values listed in its ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
}

/// A message that was sent, in stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredItem {
    /// The message of the history at this index, unchanged.
    Source(usize),
    /// A message that was repaired, shortened or made for the context.
    Made(Box<Message>),
}

impl Generation {
    /// Returns the counts, to be stored.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            number: self.number,
            reason: self.reason.clone(),
            covered: self.covered,
            tokens: self.tokens,
            messages: self.messages,
            turns: self.turns,
            marks: self.marks,
            ineffective_at: self.ineffective_at,
        }
    }

    /// Returns the slots from `from` on, to be stored: all of them after a fold, the new ones after
    /// an extension.
    #[must_use]
    pub fn stored(&self, history: &History, from: usize) -> Vec<StoredSlot> {
        let slots = self.slots.iter().skip(from);
        slots.map(|slot| store(history, slot)).collect()
    }

    /// Restores a stored generation. `source` returns the messages of the history that are not
    /// loaded.
    pub fn restore(
        head: Head,
        slots: Vec<StoredSlot>,
        mut source: impl FnMut(usize) -> Option<Message>,
    ) -> Self {
        let slots = slots.into_iter().map(|slot| Slot {
            sources: slot.sources,
            treatment: slot.treatment,
            tokens: slot.tokens,
            reason: slot.reason,
            views: slot.items.into_iter().map(|item| restore(item, &mut source)).collect(),
            listed: slot.listed,
        });
        let slots = slots.collect();
        let Head { number, reason, covered, tokens, messages, turns, marks, ineffective_at } = head;
        Self { number, reason, slots, covered, tokens, messages, turns, marks, ineffective_at }
    }

    /// Returns every view that was sent, and for each whether all messages of its slot come before
    /// the message `end`.
    pub fn views(&self, end: usize) -> impl Iterator<Item = (&View, bool)> {
        self.slots.iter().flat_map(move |slot| {
            let is_past = slot.sources.iter().all(|&source| source < end);
            slot.views.iter().map(move |view| (view, is_past))
        })
    }
}

fn store(history: &History, slot: &Slot) -> StoredSlot {
    let item = |view: &View| match view {
        View::Source(index) if !history.is_repaired(*index) => Some(StoredItem::Source(*index)),
        other => other.message(history).cloned().map(Box::new).map(StoredItem::Made),
    };
    StoredSlot {
        sources: slot.sources.clone(),
        treatment: slot.treatment,
        tokens: slot.tokens,
        reason: slot.reason.clone(),
        items: slot.views.iter().filter_map(item).collect(),
        listed: slot.listed.clone(),
    }
}

fn restore(item: StoredItem, source: &mut impl FnMut(usize) -> Option<Message>) -> View {
    match item {
        StoredItem::Source(index) => source(index).map_or(View::Source(index), View::made),
        StoredItem::Made(message) => View::made(*message),
    }
}
