//! The working state of a fold: one item an atom, which stages keep, reduce or drop. The draft
//! itself refuses what would break an invariant, so that no stage can.

mod marks;
mod slot;
mod stage;

pub use marks::{Budget, Marks};
pub use slot::{Slot, Treatment, Truncation};
pub use stage::{Arrival, Stage};

use std::sync::Arc;

use crate::history::{Atom, AtomKind, History, View};
use crate::ledger::Weights;
use crate::message::Message;
use crate::model::Model;
use crate::reduce;
use crate::summary::Summarise;
use crate::thought;
use crate::warning::{Oddity, Warning};

/// What is to become of one atom.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Item {
    /// The atom.
    pub atom: usize,
    /// What is done with it so far.
    pub treatment: Treatment,
    /// What is sent, where that is not the atom as it is.
    pub views: Option<Vec<View>>,
    /// The tokens of what is sent.
    pub tokens: usize,
    /// Why.
    pub reason: String,
    /// Kept in any case, in front of the summary.
    pub pinned: bool,
    held: bool,
    arrived: bool,
}

/// A fold in the making.
#[derive(Debug)]
#[non_exhaustive]
pub struct Draft<'a> {
    /// The whole conversation.
    pub history: &'a History,
    /// The budget.
    pub room: Marks,
    /// What is known of the model.
    pub model: &'a Model,
    warnings: Vec<Warning>,
    /// How dropped atoms are to be summed up, once a stage asked for it.
    pub summary: Option<Summarise>,
    /// Whether the context before the fold held a summary: then the next one must hold one too.
    pub had_summary: bool,
    /// How the ledger ranks values.
    pub weights: &'a Weights,
    /// Atoms of the conversation that the context before the fold did not show.
    pub hidden: Vec<usize>,
    stages: &'a [Arc<dyn Stage>],
    items: Vec<Item>,
    total: usize,
    before: usize,
}

/// What a draft starts from.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) history: &'a History,
    pub(crate) room: Marks,
    pub(crate) model: &'a Model,
    pub(crate) stages: &'a [Arc<dyn Stage>],
    pub(crate) weights: &'a Weights,
    /// Tokens of the tool definitions.
    pub(crate) tools: usize,
    /// Tokens of the context before the fold.
    pub(crate) before: usize,
    pub(crate) had_summary: bool,
    pub(crate) hidden: Vec<usize>,
}

impl Item {
    /// An atom that nothing was done with.
    #[must_use]
    pub fn new(history: &History, atom: usize) -> Self {
        let known = history.atom(atom);
        let sendable = known.is_some_and(Atom::is_sendable);
        // What is sent for several messages may differ from what came: answers are made, words
        // moved, thoughts left out.
        let is_plain = known.is_some_and(|atom| atom.open.is_empty() && atom.messages.len() == 1);
        let tokens = || match known {
            Some(atom_known) if is_plain => atom_known.tokens,
            _ => history.views(atom, 0).iter().map(|view| view.tokens(history)).sum(),
        };
        Self {
            atom,
            treatment: if sendable { Treatment::Verbatim } else { Treatment::Omitted },
            views: None,
            tokens: if sendable { tokens() } else { 0 },
            reason: known.map_or_else(String::new, |atom| reason(history, atom).to_owned()),
            pinned: false,
            held: false,
            arrived: false,
        }
    }

    /// What is sent for it.
    #[must_use]
    pub fn views(&self, history: &History) -> Vec<View> {
        if self.treatment.is_sent() {
            self.views.clone().unwrap_or_else(|| history.views(self.atom, 0))
        } else {
            Vec::new()
        }
    }

    /// Sends nothing.
    pub fn omit(&mut self, reason: impl Into<String>) {
        self.treatment = Treatment::Omitted;
        self.views = None;
        self.tokens = 0;
        self.reason = reason.into();
    }

    /// Sends something shorter instead. Refused when it is not shorter, so that no reducer grows a
    /// message.
    pub fn replace(
        &mut self,
        history: &History,
        treatment: Treatment,
        views: Vec<View>,
        reason: impl Into<String>,
    ) -> bool {
        let tokens = views.iter().map(|view| view.tokens(history)).sum();
        if tokens >= self.tokens {
            return false;
        }
        self.treatment = treatment;
        self.tokens = tokens;
        self.views = Some(views);
        self.reason = reason.into();
        true
    }
}

/// What is to be said of an atom before any stage touched it.
fn reason(history: &History, atom: &Atom) -> &'static str {
    if !atom.is_sendable() {
        atom.unsendable_reason()
    } else if !atom.open.is_empty() {
        "a call without a result is answered as interrupted"
    } else if atom.messages.iter().any(|&message| history.is_repaired(message)) {
        "repaired, see the warnings"
    } else {
        ""
    }
}

impl<'a> Draft<'a> {
    /// A draft in which everything is kept.
    #[must_use]
    pub(crate) fn new(start: Start<'a>) -> Self {
        let Start { history, room, model, stages, weights, tools, before, had_summary, hidden } =
            start;
        let items: Vec<Item> =
            (0..history.atoms().len()).map(|atom| Item::new(history, atom)).collect();
        let total = tools + items.iter().map(|item| item.tokens).sum::<usize>();
        let warnings = Vec::new();
        Self {
            history,
            room,
            model,
            warnings,
            summary: None,
            had_summary,
            weights,
            hidden,
            stages,
            items,
            total,
            before,
        }
    }

    /// The items, one an atom, oldest first.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// One item.
    #[must_use]
    pub fn item(&self, at: usize) -> Option<&Item> {
        self.items.get(at)
    }

    /// The tokens of the context as the draft stands.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    /// The tokens that the context had before the fold.
    #[must_use]
    pub const fn before(&self) -> usize {
        self.before
    }

    /// The kind of an atom.
    #[must_use]
    pub fn kind(&self, at: usize) -> AtomKind {
        self.history.atom(at).map_or(AtomKind::Empty, |atom| atom.kind)
    }

    /// Whether an atom is still sent and part of the conversation (no system message).
    #[must_use]
    pub fn is_kept(&self, at: usize) -> bool {
        self.item(at).is_some_and(|item| item.treatment.is_sent())
            && self.kind(at) != AtomKind::System
    }

    /// The kept atoms of the conversation, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let kept: Vec<usize> = (0..self.items.len()).rev().filter(|&at| self.is_kept(at)).collect();
        kept.into_iter()
    }

    /// The turns of which something is still sent, oldest first.
    #[must_use]
    pub fn kept_turns(&self) -> Vec<usize> {
        let turns = 0..self.history.turns().len();
        turns.filter(|&turn| self.history.turn_atoms(turn).any(|at| self.is_kept(at))).collect()
    }

    /// The first atom of the running turn.
    #[must_use]
    pub fn running(&self) -> usize {
        self.history.turns().last().copied().unwrap_or(0)
    }

    /// Whether an atom must stay whatever a policy says: the newest user message and the newest
    /// step.
    #[must_use]
    pub fn is_protected(&self, at: usize) -> bool {
        let said = [self.history.latest_user(), self.history.latest_words()];
        let said = said.into_iter().flatten().filter_map(|message| self.history.atom_of(message));
        said.into_iter().any(|latest| latest == at) || Some(at) == self.newest()
    }

    fn newest(&self) -> Option<usize> {
        (0..self.items.len()).rev().find(|&at| self.is_kept(at))
    }

    /// Applies what the stages do to an atom before it is first sent.
    pub fn arrive(&mut self, at: usize) {
        let Some(item) =
            self.items.get_mut(at).filter(|item| !item.arrived && item.treatment.is_sent())
        else {
            return;
        };
        item.arrived = true;
        let before = item.tokens;
        // A fold decides itself what to recall, when it knows what it drops.
        let arrival =
            Arrival { history: self.history, room: &self.room, model: self.model, hidden: &[] };
        for stage in self.stages {
            stage.arrive(item, &arrival);
        }
        self.total = self.total + item.tokens - before;
    }

    /// Drops an atom. A protected, pinned or system atom stays.
    pub fn drop(&mut self, at: usize, reason: impl Into<String>) -> bool {
        if !self.is_kept(at) || self.is_protected(at) {
            return false;
        }
        let Some(item) = self.items.get_mut(at).filter(|item| !item.pinned && !item.held) else {
            return false;
        };
        self.total -= item.tokens;
        item.omit(reason);
        true
    }

    /// Drops a system message from the middle. One at the very end stays: it is what the model is
    /// to act on.
    pub fn drop_system(&mut self, at: usize, reason: impl Into<String>) {
        let last = self.newest().is_none_or(|newest| at > newest);
        if last || at < self.history.lead() || self.kind(at) != AtomKind::System {
            return;
        }
        if let Some(item) = self.items.get_mut(at).filter(|item| item.treatment.is_sent()) {
            self.total -= item.tokens;
            item.omit(reason);
        }
    }

    /// Sends something shorter for an atom.
    pub fn replace(
        &mut self,
        at: usize,
        treatment: Treatment,
        views: Vec<View>,
        reason: impl Into<String>,
    ) -> bool {
        let history = self.history;
        if at < history.lead() {
            return false;
        }
        let Some(item) = self.items.get_mut(at).filter(|item| item.treatment.is_sent()) else {
            return false;
        };
        let before = item.tokens;
        if !item.replace(history, treatment, views, reason) {
            return false;
        }
        self.total -= before - item.tokens;
        true
    }

    /// Pins an atom: it is kept in front of the summary.
    pub fn pin(&mut self, at: usize, reason: impl Into<String>) {
        if self.is_kept(at)
            && let Some(item) = self.items.get_mut(at)
        {
            item.pinned = true;
            item.reason = reason.into();
        }
    }

    /// Marks a dropped atom as quoted elsewhere.
    pub fn recall(&mut self, at: usize, reason: impl Into<String>) {
        if let Some(item) =
            self.items.get_mut(at).filter(|item| item.treatment == Treatment::Omitted)
        {
            item.treatment = Treatment::Recalled;
            item.reason = reason.into();
        }
    }

    /// What is sent for an atom, as messages.
    #[must_use]
    pub fn views(&self, at: usize) -> Vec<View> {
        self.item(at).map(|item| item.views(self.history)).unwrap_or_default()
    }

    /// Takes the thinking out of an atom.
    pub fn drop_thinking(&mut self, at: usize) {
        let views = self.views(at);
        if !views.iter().filter_map(|view| view.message(self.history)).any(thought::is_bound) {
            return;
        }
        let bare = views.into_iter().filter_map(|view| match view.message(self.history) {
            Some(message) if thought::is_bound(message) => {
                thought::without(message).map(View::made)
            }
            _ => Some(view),
        });
        let bare: Vec<View> = bare.collect();
        self.change(at, |item, history| {
            item.tokens = bare.iter().map(|view| view.tokens(history)).sum();
            item.views = Some(bare);
            if item.reason.is_empty() {
                "without its thinking".clone_into(&mut item.reason);
            }
        });
    }

    /// Changes an item in a way that may make it longer, and keeps the books.
    pub fn change<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut Item, &History) -> T,
    ) -> Option<T> {
        let item = self.items.get_mut(at)?;
        let before = item.tokens;
        let result = change(item, self.history);
        self.total = self.total + item.tokens - before;
        Some(result)
    }

    /// Cuts an atom to about `target` tokens: its largest messages lose their middle.
    pub fn clip(&mut self, at: usize, target: usize, reason: &str) -> bool {
        let history = self.history;
        let views = self.views(at);
        let sizes: Vec<usize> = views.iter().map(|view| view.tokens(history)).collect();
        let level = level(&sizes, target);
        self.reduce(at, Treatment::Trimmed, reason, |message| {
            reduce::clip(message, history.counter(), level)
        })
    }

    /// Lets go of what was held.
    pub(crate) fn release(&mut self) {
        self.items.iter_mut().for_each(|item| item.held = false);
    }

    /// Keeps an atom from now on, also if it was dropped.
    pub(crate) fn hold(&mut self, at: usize, reason: &str) {
        let fresh = Item::new(self.history, at);
        let Some(item) = self.items.get_mut(at) else { return };
        if !item.treatment.is_sent() {
            *item = Item { reason: reason.into(), ..fresh };
            self.total += item.tokens;
        }
        item.held = true;
    }

    /// Cuts every message of an atom in the same way; what a cut does not shorten stays.
    pub fn reduce(
        &mut self,
        at: usize,
        treatment: Treatment,
        reason: &str,
        cut: impl Fn(&Message) -> Option<Message>,
    ) -> bool {
        match reduce_views(self.history, self.views(at), cut) {
            Some(views) => self.replace(at, treatment, views, reason),
            None => false,
        }
    }

    /// Reports something, once.
    pub fn warn(&mut self, oddity: Oddity, text: impl Into<String>) {
        let warning = Warning::new(oddity, text);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<Item>, Vec<Warning>, usize) {
        (self.items, self.warnings, self.total)
    }
}

/// The height at which sizes must be cut off so that together they are at most `target`.
fn level(sizes: &[usize], target: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = target;
    for (at, &size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if size > share {
            return share;
        }
        left -= size;
    }
    target
}

/// The views with a cut applied to each message, or `None` when it shortened none.
pub(crate) fn reduce_views(
    history: &History,
    views: Vec<View>,
    cut: impl Fn(&Message) -> Option<Message>,
) -> Option<Vec<View>> {
    let mut changed = false;
    let reduced = views
        .into_iter()
        .map(|view| match view.message(history).and_then(&cut) {
            Some(shorter) => {
                changed = true;
                View::made(shorter)
            }
            None => view,
        })
        .collect();
    changed.then_some(reduced)
}
