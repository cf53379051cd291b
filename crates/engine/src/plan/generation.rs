//! A frozen projection of the history: a base, followed by whatever was appended since. Inside a
//! generation what was sent is sent again byte for byte; only a fold starts a new one.

use super::{Action, Plan};
use crate::draft::{Marks, Slot, Treatment};
use crate::history::{AtomKind, History};
use crate::message::Message;

/// What has been sent so far, slot by slot.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    /// How many folds led to it.
    pub number: u64,
    /// Why it was started; empty for the first.
    pub reason: String,
    pub(super) slots: Vec<Slot>,
    pub(super) covered: usize,
    pub(super) tokens: usize,
    pub(super) messages: usize,
    pub(super) turns: usize,
    pub(super) settled: Option<Marks>,
    /// The tokens at which a fold was last found not to be worth it.
    pub(super) refused: Option<usize>,
}

impl Generation {
    /// The generation before anything was sent.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was sent, in order, and what was not.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// How many messages of the history have a slot.
    #[must_use]
    pub const fn covered(&self) -> usize {
        self.covered
    }

    /// The tokens of what was sent, without tool definitions.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// The messages of the conversation that were sent.
    #[must_use]
    pub const fn messages(&self) -> usize {
        self.messages
    }

    /// The turns that were sent.
    #[must_use]
    pub const fn turns(&self) -> usize {
        self.turns
    }

    /// Whether what was folded is summed up in it.
    #[must_use]
    pub fn has_summary(&self) -> bool {
        self.slots.iter().any(|slot| slot.treatment == Treatment::Summary)
    }

    /// The atoms of the conversation that it does not show.
    pub(super) fn hidden(&self, history: &History) -> Vec<usize> {
        let slots = self.slots.iter().filter(|slot| !slot.treatment.is_sent());
        let mut atoms: Vec<usize> = slots
            .flat_map(|slot| &slot.sources)
            .filter_map(|&message| history.atom_of(message))
            .collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Whether a fold that was refused at so many tokens is worth another try: not before there is
    /// a bit more to free.
    pub(super) const fn may_fold_again(&self, before: usize) -> bool {
        match self.refused {
            Some(tokens) => before * 100 >= tokens * 103,
            None => true,
        }
    }

    /// Whether a plan was made for just this: nothing new was said since, and there is as much room
    /// as then.
    pub(super) fn is_settled(&self, history: &History, room: &Marks) -> bool {
        self.covered == history.len() && self.settled == Some(*room)
    }

    /// Takes in a plan: its slots are now what was sent. An extension costs what is new.
    pub fn freeze(&mut self, history: &History, plan: Plan) {
        if let Action::Fold { reason, .. } = plan.action {
            *self = Self { number: self.number + 1, reason, ..Self::default() };
        }
        self.covered = plan.covered;
        self.settled = Some(plan.room);
        self.refused = plan.refused.or(self.refused);
        for slot in plan.slots {
            let Counts { tokens, messages, turns } =
                Counts::of(history, std::slice::from_ref(&slot));
            self.tokens += tokens;
            self.messages += messages;
            self.turns += turns;
            self.slots.push(slot);
        }
    }

    /// The context: every message that is sent, in order.
    pub fn context<'a>(&'a self, history: &'a History) -> impl Iterator<Item = &'a Message> {
        self.slots.iter().flat_map(|slot| &slot.views).filter_map(|view| view.message(history))
    }
}

/// What a run of slots adds to a generation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) tokens: usize,
    pub(super) messages: usize,
    pub(super) turns: usize,
}

impl Counts {
    pub(super) fn of(history: &History, slots: &[Slot]) -> Self {
        let mut counts = Self::default();
        for slot in slots {
            counts.tokens += slot.tokens;
            let atom = slot.sources.first().and_then(|&message| history.atom_of(message));
            let Some(at) = atom.filter(|_| slot.treatment.is_sent()) else { continue };
            if history.atom(at).is_some_and(|atom| atom.kind != AtomKind::System) {
                counts.messages += slot.sources.len();
                counts.turns += usize::from(history.turns().binary_search(&at).is_ok());
            }
        }
        counts
    }
}
