//! The last step of a fold: items and note find their slots, in the order they are sent.

use super::summary_block::SummaryBlock;
use crate::draft::{Item, Slot, Treatment};
use crate::history::{AtomKind, History, View};
use crate::summary::Placement;

/// Puts items and note into slots, in the order they are sent.
pub(super) struct Assembly<'a> {
    history: &'a History,
    note: Option<&'a SummaryBlock>,
    placed: bool,
    slots: Vec<Slot>,
}

impl<'a> Assembly<'a> {
    pub(super) const fn new(history: &'a History, note: Option<&'a SummaryBlock>) -> Self {
        Self { history, note, placed: false, slots: Vec::new() }
    }

    pub(super) fn slots(mut self, items: &[Item], total: &mut usize) -> Vec<Slot> {
        let lead = self.history.lead();
        for item in items.iter().take(lead) {
            self.push_item(item, "system prompt");
        }
        if self.note.is_some_and(|note| note.placement == Placement::System) {
            self.push_note();
        }
        let mut pinned: Vec<&Item> = Vec::new();
        let mut rest: Vec<&Item> = Vec::new();
        for item in items.iter().skip(lead) {
            // What is pinned before the first kept message stands in front of the note.
            if item.pinned && rest.iter().all(|other| !other.treatment.is_sent()) {
                pinned.push(item)
            } else {
                rest.push(item)
            }
        }
        for item in pinned {
            self.push_item(item, "");
        }
        for item in rest {
            self.push_rest(item);
        }
        self.push_note();
        *total += self
            .slots
            .iter()
            .filter(|slot| slot.treatment == Treatment::Summary)
            .map(|slot| slot.tokens)
            .sum::<usize>();
        self.slots
    }

    fn is_conversation(&self, item: &Item) -> bool {
        item.treatment.is_sent()
            && self.history.atom(item.atom).is_some_and(|atom| atom.kind != AtomKind::System)
    }

    fn push_rest(&mut self, item: &Item) {
        if self.note.is_some_and(|note| note.atoms.binary_search(&item.atom).is_ok()) {
            return;
        }
        if self.is_conversation(item) && !self.placed {
            let joins = self.note.is_some_and(|note| note.placement == Placement::Prefix)
                && self.history.atom(item.atom).is_some_and(|atom| atom.kind == AtomKind::User);
            if joins {
                self.push_joined(item);
                return;
            }
            self.push_note();
        }
        self.push_item(item, "");
    }

    fn push_item(&mut self, item: &Item, reason: &str) {
        let sources =
            self.history.atom(item.atom).map(|atom| atom.messages.clone()).unwrap_or_default();
        let reason = if item.reason.is_empty() { reason.to_owned() } else { item.reason.clone() };
        if let Some(last) = self.slots.last_mut()
            && last.treatment == Treatment::Omitted
            && item.treatment == Treatment::Omitted
            && last.reason == reason
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
            reason,
            views,
            listed: Vec::new(),
        });
    }

    /// The note on its own.
    fn push_note(&mut self) {
        let Some(note) = self.note.filter(|_| !self.placed) else { return };
        self.placed = true;
        let views = note.views();
        let tokens = views.iter().map(|view| view.tokens(self.history)).sum();
        self.slots.push(Slot {
            sources: note.sources.clone(),
            treatment: Treatment::Summary,
            tokens,
            reason: note.reason.clone(),
            views,
            listed: note.listed.clone(),
        });
    }

    /// The note in front of the words of a user message: two slots, one message.
    fn push_joined(&mut self, item: &Item) {
        let Some(note) = self.note else { return };
        self.placed = true;
        let tokens = self.history.counter().text(&note.text) + 1;
        self.slots.push(Slot {
            sources: note.sources.clone(),
            treatment: Treatment::Summary,
            tokens,
            reason: note.reason.clone(),
            views: Vec::new(),
            listed: note.listed.clone(),
        });
        self.push_item(item, "with the summary in front of it");
        if let Some(slot) = self.slots.last_mut() {
            let joined = slot
                .views
                .first()
                .and_then(|view| view.message(self.history))
                .map(|message| note.before(message));
            if let (Some(joined), Some(view)) = (joined, slot.views.first_mut()) {
                *view = View::made(joined);
            }
        }
    }
}
