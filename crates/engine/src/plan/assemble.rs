//! The last step of a fold: puts the kept items and the summary block into slots, in the order in
//! which they are sent.

use super::summary_block::SummaryBlock;
use crate::draft::{Item, Slot, Treatment};
use crate::history::{AtomKind, History, View};
use crate::reason::Reason;
use crate::summary::Placement;

/// Collects the slots of a fold.
pub(super) struct Assembly<'a> {
    history: &'a History,
    block: Option<&'a SummaryBlock>,
    /// Whether the stable part of the block's ledger already has its slot.
    is_stable_placed: bool,
    /// Whether the block already has its slot.
    is_block_placed: bool,
    slots: Vec<Slot>,
}

impl<'a> Assembly<'a> {
    pub(super) const fn new(history: &'a History, block: Option<&'a SummaryBlock>) -> Self {
        Self { history, block, is_stable_placed: false, is_block_placed: false, slots: Vec::new() }
    }

    /// Returns the slots, in the order in which they are sent.
    pub(super) fn slots(mut self, items: &[Item]) -> Vec<Slot> {
        let system_prefix = self.history.system_prefix();
        for item in items.iter().take(system_prefix) {
            self.push_item(item, Some(Reason::SystemPrompt));
        }
        if self.block.is_some_and(|block| block.placement == Placement::System) {
            self.push_block();
        }
        let mut pinned: Vec<&Item> = Vec::new();
        let mut rest: Vec<&Item> = Vec::new();
        for item in items.iter().skip(system_prefix) {
            // Pins that precede the first kept message go in front of the summary block.
            if item.pinned && rest.iter().all(|other| !other.treatment.is_sent()) {
                pinned.push(item)
            } else {
                rest.push(item)
            }
        }
        for item in pinned {
            self.push_item(item, None);
        }
        for item in rest {
            self.push_unless_replaced(item);
        }
        self.push_block();
        self.slots
    }

    fn is_kept(&self, item: &Item) -> bool {
        item.treatment.is_sent()
            && self.history.atom(item.atom).is_some_and(|atom| atom.kind != AtomKind::System)
    }

    /// Adds an item unless the summary block replaces it. The block goes before the first item of
    /// the conversation that is sent; with [`Placement::Middle`] only the stable part of its ledger
    /// does.
    fn push_unless_replaced(&mut self, item: &Item) {
        if self.block.is_some_and(|block| block.atoms.binary_search(&item.atom).is_ok()) {
            return;
        }
        if self.is_kept(item) && !self.is_block_placed {
            let joins_block = self.block.is_some_and(|block| block.placement == Placement::Prefix)
                && self.history.atom(item.atom).is_some_and(|atom| atom.kind == AtomKind::User);
            if joins_block {
                self.push_joined(item);
                return;
            }
            match self.block.and_then(|block| block.before_atom) {
                Some(next) if item.atom < next => self.push_stable(),
                _ => self.push_block(),
            }
        }
        self.push_item(item, None);
    }

    fn push_item(&mut self, item: &Item, default_reason: Option<Reason>) {
        let sources =
            self.history.atom(item.atom).map(|atom| atom.messages.clone()).unwrap_or_default();
        let reasons = match default_reason {
            Some(reason) if item.reasons.is_empty() => reason.into(),
            _ => item.reasons.clone(),
        };
        if let Some(last) = self.slots.last_mut()
            && last.treatment == Treatment::Omitted
            && item.treatment == Treatment::Omitted
            && last.reasons == reasons
        {
            last.sources.extend(sources);
            return;
        }
        let views = item.views(self.history);
        let tokens = views.iter().map(|view| view.tokens(self.history)).sum();
        self.slots.push(Slot {
            sources,
            treatment: item.treatment,
            tokens,
            reasons,
            views,
            listed: Vec::new(),
        });
    }

    /// Adds the stable part of the block's ledger, unless it is already placed.
    fn push_stable(&mut self) {
        let Some(block) = self.block.filter(|_| !self.is_stable_placed) else { return };
        self.is_stable_placed = true;
        self.slots.extend(block.stable.as_ref().map(|stable| stable.slot(self.history)));
    }

    /// Adds the summary block as messages of its own, unless it is already placed.
    fn push_block(&mut self) {
        let Some(block) = self.block.filter(|_| !self.is_block_placed) else { return };
        self.is_block_placed = true;
        self.push_stable();
        let views = block.views();
        let tokens = views.iter().map(|view| view.tokens(self.history)).sum();
        self.slots.push(Slot {
            sources: block.sources.clone(),
            treatment: Treatment::Summary,
            tokens,
            reasons: block.reasons.clone(),
            views,
            listed: block.listed.clone(),
        });
    }

    /// Adds the summary block in front of the text of a user message: two slots, one message.
    fn push_joined(&mut self, item: &Item) {
        let Some(block) = self.block else { return };
        self.is_block_placed = true;
        self.push_stable();
        // One more for the blank line after the block.
        let tokens = self.history.counter().text(&block.text) + 1;
        self.slots.push(Slot {
            sources: block.sources.clone(),
            treatment: Treatment::Summary,
            tokens,
            reasons: block.reasons.clone(),
            views: Vec::new(),
            listed: block.listed.clone(),
        });
        self.push_item(item, Some(Reason::WithSummary));
        if let Some(slot) = self.slots.last_mut() {
            let joined = slot
                .views
                .first()
                .and_then(|view| view.message(self.history))
                .map(|message| block.prepended_to(message));
            if let (Some(joined), Some(view)) = (joined, slot.views.first_mut()) {
                *view = View::made(joined);
            }
        }
    }
}
