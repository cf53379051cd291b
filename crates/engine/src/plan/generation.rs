//! A generation: what the last fold kept, and everything appended since. It is sent again byte for
//! byte with every call and only grows at its end; a fold starts a new one.

use super::{Action, Plan};
use crate::draft::{Marks, Passage, Slot, Treatment};
use crate::history::{AtomKind, History};
use crate::message::Message;
use crate::reason::Reasons;
use crate::setting::FoldRule;

/// After a fold that did not free enough, the context must grow by this percentage before the next
/// one is tried.
const REGROWTH_PERCENT: usize = 3;

/// What was sent so far, slot by slot.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    /// The number of folds before it.
    pub number: u64,
    /// Why it was started. Empty for the first one.
    pub reasons: Reasons,
    pub(super) slots: Vec<Slot>,
    /// How many messages of the history have a slot.
    pub(super) covered: usize,
    pub(super) tokens: usize,
    pub(super) messages: usize,
    pub(super) turns: usize,
    /// The marks of the newest plan.
    pub(super) marks: Option<Marks>,
    /// The size of the context when a fold was last tried and did not free enough.
    pub(super) ineffective_fold_tokens: Option<usize>,
}

impl Generation {
    /// Creates the first generation, in which nothing was sent yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the slots in the order in which they are sent, including those of omitted messages.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns how many messages of the history have a slot.
    #[must_use]
    pub const fn covered(&self) -> usize {
        self.covered
    }

    /// Returns the tokens of what was sent, as the local counter counts, without tool definitions.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Returns how many messages of the conversation were sent, without system messages.
    #[must_use]
    pub const fn messages(&self) -> usize {
        self.messages
    }

    /// Returns how many turns were sent.
    #[must_use]
    pub const fn turns(&self) -> usize {
        self.turns
    }

    /// Returns whether it contains a summary block.
    #[must_use]
    pub fn has_summary_block(&self) -> bool {
        self.slots.iter().any(|slot| slot.treatment == Treatment::Summary)
    }

    /// Returns the tokens of its summary block.
    pub(super) fn block_tokens(&self) -> usize {
        let blocks = self.slots.iter().filter(|slot| slot.treatment == Treatment::Summary);
        blocks.map(|slot| slot.tokens).sum()
    }

    /// Returns the slot of the stable part of the ledger. Slots do not record which part they are:
    /// if there are two with a summary, the first is the stable part and the second is the block.
    pub(super) fn stable_ledger(&self) -> Option<&Slot> {
        let mut blocks = self.slots.iter().filter(|slot| slot.treatment == Treatment::Summary);
        let first = blocks.next();
        first.filter(|_| blocks.next().is_some())
    }

    /// Returns the atoms that have a slot and are not sent: omitted, summarized or recalled.
    pub(super) fn unsent_atoms(&self, history: &History) -> Vec<usize> {
        let slots = self.slots.iter().filter(|slot| !slot.treatment.is_sent());
        let mut atoms: Vec<usize> = slots
            .flat_map(|slot| &slot.sources)
            .filter_map(|&message| history.atom_of(message))
            .collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// Returns the passages that are not in what was sent. A message without a slot is new: it is
    /// about to be sent.
    pub(super) fn not_shown<'a>(
        &self,
        history: &History,
        passages: &'a [Passage],
    ) -> Vec<&'a Passage> {
        let is_shown = |slot: &Slot, passage: &Passage| {
            let views = slot.views.iter().filter_map(|view| view.message(history));
            slot.treatment.is_sent() && passage.is_in(views)
        };
        let is_hidden = |passage: &&Passage| {
            let has = |slot: &&Slot| slot.sources.contains(&passage.message);
            let mut slots = self.slots.iter().filter(has).peekable();
            slots.peek().is_some() && !slots.any(|slot| is_shown(slot, passage))
        };
        passages.iter().filter(is_hidden).collect()
    }

    /// Returns whether to try a fold again after one that did not free enough: only once the
    /// context has grown by [`REGROWTH_PERCENT`], unless the policy takes what it can get
    /// (`fold.free = "0%"`).
    pub(super) fn may_fold_again(&self, rule: &FoldRule, unfolded: usize) -> bool {
        match self.ineffective_fold_tokens {
            Some(tokens) => {
                unfolded * 100 >= tokens * (100 + REGROWTH_PERCENT) || rule.free.is_zero()
            }
            None => true,
        }
    }

    /// Returns whether there is already a plan for this history and these marks.
    pub(super) fn is_planned(&self, history: &History, marks: &Marks) -> bool {
        self.covered == history.len() && self.marks == Some(*marks)
    }

    /// Makes a plan part of the context, before it is sent. It never changes again until a fold.
    /// Takes time in proportion to the new slots.
    pub fn freeze(&mut self, history: &History, plan: Plan) {
        if let Action::Fold { reasons, .. } = plan.action {
            *self = Self { number: self.number + 1, reasons, ..Self::default() };
        }
        self.covered = plan.covered;
        self.marks = Some(plan.marks);
        self.ineffective_fold_tokens =
            plan.ineffective_fold_tokens.or(self.ineffective_fold_tokens);
        let added = Counts::of(history, &plan.slots);
        self.tokens += added.tokens;
        self.messages += added.messages;
        self.turns += added.turns;
        self.slots.extend(plan.slots);
    }

    /// Returns the context: every message that is sent, in order.
    pub fn context<'a>(&'a self, history: &'a History) -> impl Iterator<Item = &'a Message> {
        self.slots.iter().flat_map(|slot| &slot.views).filter_map(|view| view.message(history))
    }
}

/// What some slots add to a generation.
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
            let Some(index) = atom.filter(|_| slot.treatment.is_sent()) else { continue };
            if history.atom(index).is_some_and(|atom| atom.kind != AtomKind::System) {
                counts.messages += slot.sources.len();
                counts.turns += usize::from(history.turns().binary_search(&index).is_ok());
            }
        }
        counts
    }
}
