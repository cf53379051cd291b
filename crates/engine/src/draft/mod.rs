//! The working state of a fold: one item per atom, which stages keep, shorten or omit. The draft
//! rejects changes that would break an invariant, so no stage can break one.

mod item;
mod marks;
mod passage;
mod query;
mod shorten;
mod slot;
mod stage;

pub use item::Item;
pub use marks::{Budget, Marks};
pub use passage::Passage;
pub(crate) use shorten::{max_size, shorten_views};
pub use slot::{Slot, Treatment, Truncation};
pub use stage::{Arrival, CountLimit, Search, Stage};

use std::sync::Arc;

use crate::history::{AtomKind, History, View};
use crate::ledger::Weights;
use crate::message::Message;
use crate::model::Model;
use crate::phrase::Phrase;
use crate::reason::{Reason, Reasons};
use crate::reduce;
use crate::summary::Summarize;
use crate::thinking;
use crate::warning::{Warning, WarningKind};

/// A fold that the stages are working on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Draft<'a> {
    /// All messages, also those that are not sent.
    pub history: &'a History,
    /// The token limits that the fold must reach.
    pub marks: Marks,
    /// The model that is called.
    pub model: &'a Model,
    warnings: Vec<Warning>,
    /// How dropped atoms are summarized, if a stage asked for it.
    pub summary_settings: Option<Summarize>,
    /// Whether the context before the fold had a summary block. If so, the new one must have one
    /// too.
    pub had_block: bool,
    /// The tokens of that block.
    earlier_block_tokens: usize,
    /// Whether the earlier block is sent again unchanged, if possible: nothing new has to be
    /// summarized, because the context is short enough for the stage `summarise`.
    pub keeps_block: bool,
    /// How the ledger ranks values.
    pub weights: &'a Weights,
    /// The atoms that the context before the fold did not show.
    pub unsent_before: Vec<usize>,
    /// The passages that the caller found for the newest user message, best first; `None` if the
    /// caller did not search.
    pub found_passages: Option<&'a [Passage]>,
    /// The first of the newest atoms that the stage `trim` left unchanged. With
    /// [`Placement::Middle`](crate::summary::Placement::Middle) the summary block comes before it.
    pub trim_boundary: Option<usize>,
    stages: &'a [Arc<dyn Stage>],
    items: Vec<Item>,
    total: usize,
    unfolded: usize,
}

/// What a draft starts from.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) history: &'a History,
    pub(crate) marks: Marks,
    pub(crate) model: &'a Model,
    pub(crate) stages: &'a [Arc<dyn Stage>],
    pub(crate) weights: &'a Weights,
    /// Tokens of the tool definitions.
    pub(crate) tools: usize,
    /// Tokens of the context without the fold.
    pub(crate) unfolded: usize,
    pub(crate) had_block: bool,
    /// Tokens of the block that it had.
    pub(crate) earlier_block_tokens: usize,
    pub(crate) unsent_before: Vec<usize>,
    pub(crate) found_passages: Option<&'a [Passage]>,
}

impl<'a> Draft<'a> {
    /// Creates a draft in which everything is kept.
    #[must_use]
    pub(crate) fn new(start: Start<'a>) -> Self {
        let Start { history, marks, model, stages, weights, tools, unfolded, .. } = start;
        let Start { had_block, earlier_block_tokens, unsent_before, found_passages, .. } = start;
        let items: Vec<Item> =
            (0..history.atoms().len()).map(|atom| Item::new(history, atom)).collect();
        let total = tools + items.iter().map(|item| item.tokens).sum::<usize>();
        let warnings = Vec::new();
        Self {
            history,
            marks,
            model,
            warnings,
            summary_settings: None,
            had_block,
            earlier_block_tokens,
            keeps_block: false,
            weights,
            unsent_before,
            found_passages,
            trim_boundary: None,
            stages,
            items,
            total,
            unfolded,
        }
    }

    /// Lets the stages change an atom as if it were sent for the first time.
    pub fn arrive(&mut self, atom: usize) {
        let Some(item) =
            self.items.get_mut(atom).filter(|item| !item.arrived && item.treatment.is_sent())
        else {
            return;
        };
        item.arrived = true;
        let before = item.tokens;
        // What to recall is decided by the fold, once it is known what was dropped.
        let arrival = Arrival {
            history: self.history,
            marks: &self.marks,
            model: self.model,
            weights: self.weights,
            headroom: 0,
            unsent: &[],
            found_passages: None,
        };
        for stage in self.stages {
            stage.arrive(item, &arrival);
        }
        self.total = self.total + item.tokens - before;
    }

    /// Drops an atom and returns whether it did. Protected, pinned and system atoms stay.
    pub fn omit(&mut self, atom: usize, reason: impl Into<Reasons>) -> bool {
        if !self.is_kept(atom) || self.is_protected(atom) {
            return false;
        }
        let Some(item) = self.items.get_mut(atom).filter(|item| !item.pinned && !item.held) else {
            return false;
        };
        self.total -= item.tokens;
        item.omit(reason);
        true
    }

    /// Truncates long texts with the settings of the policy's `emergency` stage, if it has one.
    /// Protected messages stay whole.
    pub fn truncate_texts(&mut self, reason: &Reason) {
        for stage in self.stages {
            stage.truncate_texts(self, reason);
        }
    }

    /// Drops again what the context before the fold did not show.
    pub fn omit_unsent_before(&mut self, reason: impl Into<Reasons>) {
        let reasons: Reasons = reason.into();
        for atom in self.unsent_before.clone() {
            self.omit(atom, reasons.clone());
        }
    }

    /// Drops a system message from the middle of the conversation. One at the very end stays,
    /// because the model is supposed to act on it.
    pub fn omit_system(&mut self, atom: usize, reason: impl Into<Reasons>) {
        let is_last = self.newest().is_none_or(|newest| atom > newest);
        if is_last || atom < self.history.system_prefix() || self.kind(atom) != AtomKind::System {
            return;
        }
        if let Some(item) = self.items.get_mut(atom).filter(|item| item.treatment.is_sent()) {
            self.total -= item.tokens;
            item.omit(reason);
        }
    }

    /// Makes changes, and undoes them unless they leave at most `goal` tokens. Returns whether they
    /// were kept.
    pub(crate) fn attempt(&mut self, goal: usize, change: impl FnOnce(&mut Self)) -> bool {
        let items = self.items.clone();
        let total = self.total;
        change(self);
        let helps = self.projected_tokens() <= goal;
        if !helps {
            self.items = items;
            self.total = total;
        }
        helps
    }

    /// Sends `views` for an atom if they are shorter. Returns whether it was replaced.
    pub fn replace(
        &mut self,
        atom: usize,
        treatment: Treatment,
        views: Vec<View>,
        reason: impl Into<Reasons>,
    ) -> bool {
        let history = self.history;
        if atom < history.system_prefix() {
            return false;
        }
        let Some(item) = self.items.get_mut(atom).filter(|item| item.treatment.is_sent()) else {
            return false;
        };
        let before = item.tokens;
        if !item.replace(history, treatment, views, reason) {
            return false;
        }
        self.total -= before - item.tokens;
        true
    }

    /// Sends an atom as it was before a stage shortened it.
    pub(crate) fn restore(&mut self, atom: usize, before: Item) {
        if let Some(item) = self.items.get_mut(atom).filter(|item| item.treatment.is_sent()) {
            self.total = self.total - item.tokens + before.tokens;
            *item = before;
        }
    }

    /// Pins an atom, so that it is always kept. If it precedes the first kept message, it comes
    /// before the summary block.
    pub fn pin(&mut self, atom: usize, reason: impl Into<Reasons>) {
        if self.is_kept(atom)
            && let Some(item) = self.items.get_mut(atom)
        {
            item.pinned = true;
            item.reasons = reason.into();
        }
    }

    /// Returns whether the context contains a passage.
    #[must_use]
    pub fn shows(&self, passage: &Passage) -> bool {
        let Some(atom) = self.history.atom_of(passage.message) else { return false };
        let views = self.views(atom);
        self.kind(atom) == AtomKind::System
            || passage.is_in(views.iter().filter_map(|view| view.message(self.history)))
    }

    /// Marks a dropped atom as quoted elsewhere.
    pub fn recall(&mut self, atom: usize, reason: impl Into<Reasons>) {
        if let Some(item) =
            self.items.get_mut(atom).filter(|item| item.treatment == Treatment::Omitted)
        {
            item.treatment = Treatment::Recalled;
            item.reasons = reason.into();
        }
    }

    /// Removes the thinking from an atom.
    pub fn omit_thinking(&mut self, atom: usize) {
        let views = self.views(atom);
        if !views.iter().filter_map(|view| view.message(self.history)).any(thinking::is_bound) {
            return;
        }
        let bare = views.into_iter().filter_map(|view| match view.message(self.history) {
            Some(message) if thinking::is_bound(message) => {
                thinking::without(message).map(View::made)
            }
            _ => Some(view),
        });
        let bare: Vec<View> = bare.collect();
        self.change(atom, |item, history| {
            item.tokens = bare.iter().map(|view| view.tokens(history)).sum();
            item.views = Some(bare);
            if item.reasons.is_empty() {
                item.reasons = Reason::NoThinking.into();
            }
        });
    }

    /// Changes an item in a way that may make it longer, and updates the total.
    pub fn change<T>(
        &mut self,
        atom: usize,
        change: impl FnOnce(&mut Item, &History) -> T,
    ) -> Option<T> {
        let item = self.items.get_mut(atom)?;
        let before = item.tokens;
        let result = change(item, self.history);
        self.total = self.total + item.tokens - before;
        Some(result)
    }

    /// Truncates an atom to about `target` tokens: its largest messages lose their middle.
    pub fn truncate(&mut self, atom: usize, target: usize, reason: impl Into<Reasons>) -> bool {
        let history = self.history;
        let views = self.views(atom);
        let sizes: Vec<usize> = views.iter().map(|view| view.tokens(history)).collect();
        let max_size = max_size(&sizes, target);
        self.shorten(atom, Treatment::Trimmed, reason, |message| {
            reduce::truncate_message(message, history.counter(), max_size)
        })
    }

    /// Releases every atom that [`Draft::hold`] keeps.
    pub(crate) fn release(&mut self) {
        self.items.iter_mut().for_each(|item| item.held = false);
    }

    /// Returns whether an atom is kept only because it is pinned, or because it opens a turn of
    /// which a part is kept.
    pub(crate) fn is_pinned_or_held(&self, atom: usize) -> bool {
        let is_held = |item: &Item| item.pinned || item.held;
        self.items.get(atom).is_some_and(is_held) && !self.is_protected(atom)
    }

    /// Restores an atom if it was dropped. Until [`Draft::release`] it cannot be dropped, and the
    /// release itself does not drop it.
    pub(crate) fn hold(&mut self, atom: usize, reason: Reason) {
        let fresh = Item::new(self.history, atom);
        let Some(item) = self.items.get_mut(atom) else { return };
        if !item.treatment.is_sent() {
            *item = Item { reasons: reason.into(), ..fresh };
            self.total += item.tokens;
        }
        item.held = true;
    }

    /// Shortens every message of an atom with `shorten`, which returns `None` for a message that
    /// stays. Returns whether the atom got shorter.
    pub fn shorten(
        &mut self,
        atom: usize,
        treatment: Treatment,
        reason: impl Into<Reasons>,
        shorten: impl Fn(&Message) -> Option<Message>,
    ) -> bool {
        match shorten_views(self.history, self.views(atom), shorten) {
            Some(views) => self.replace(atom, treatment, views, reason),
            None => false,
        }
    }

    /// Adds a warning, unless it was already added.
    pub fn warn(&mut self, kind: WarningKind, text: impl Into<Phrase>) {
        let warning = Warning::new(kind, text);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<Item>, Vec<Warning>, usize) {
        (self.items, self.warnings, self.total)
    }
}
