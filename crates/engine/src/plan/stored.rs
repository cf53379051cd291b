//! The stored form of a generation: what was sent, slot by slot.

use serde::{Deserialize, Serialize};

use super::Generation;
use crate::draft::{Marks, Slot, Treatment};
use crate::history::{History, View};
use crate::message::Message;
use crate::reason::Reasons;

/// The counts of a generation after a plan, in stored form. Its slots are stored one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Head {
    /// The number of folds before it.
    pub number: u64,
    /// Why it was started.
    #[serde(default, alias = "reason", skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
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
    pub(super) ineffective_fold_tokens: Option<usize>,
}

/// A slot in stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredSlot {
    /// The indexes of the messages it covers.
    pub sources: Vec<usize>,
    /// What was done with them.
    pub treatment: Treatment,
    /// The tokens it takes.
    pub tokens: usize,
    /// Why.
    #[serde(default, alias = "reason", skip_serializing_if = "Reasons::is_empty")]
    pub reasons: Reasons,
    /// The messages that were sent for it.
    #[serde(rename = "items", default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<StoredView>,
    /// The values listed in its ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
}

/// A [`View`], a message that was sent, in stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoredView {
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
            reasons: self.reasons.clone(),
            covered: self.covered,
            tokens: self.tokens,
            messages: self.messages,
            turns: self.turns,
            marks: self.marks,
            ineffective_fold_tokens: self.ineffective_fold_tokens,
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
            reasons: slot.reasons,
            views: slot.views.into_iter().map(|view| restore(view, &mut source)).collect(),
            listed: slot.listed,
        });
        let slots = slots.collect();
        let Head {
            number,
            reasons,
            covered,
            tokens,
            messages,
            turns,
            marks,
            ineffective_fold_tokens,
        } = head;
        Self {
            number,
            reasons,
            slots,
            covered,
            tokens,
            messages,
            turns,
            marks,
            ineffective_fold_tokens,
        }
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
    let stored = |view: &View| match view {
        View::Source(index) if !history.is_repaired(*index) => Some(StoredView::Source(*index)),
        other => other.message(history).cloned().map(Box::new).map(StoredView::Made),
    };
    StoredSlot {
        sources: slot.sources.clone(),
        treatment: slot.treatment,
        tokens: slot.tokens,
        reasons: slot.reasons.clone(),
        views: slot.views.iter().filter_map(stored).collect(),
        listed: slot.listed.clone(),
    }
}

fn restore(view: StoredView, source: &mut impl FnMut(usize) -> Option<Message>) -> View {
    match view {
        StoredView::Source(index) => source(index).map_or(View::Source(index), View::made),
        StoredView::Made(message) => View::made(*message),
    }
}
