//! The working state of a fold: one item per atom, which stages keep, reduce or drop. The draft
//! rejects changes that would break an invariant, so no stage can break one.

mod marks;
mod passage;
mod slot;
mod stage;

pub use marks::{Budget, Marks};
pub use passage::Passage;
pub use slot::{Slot, Treatment, Truncation};
pub use stage::{Arrival, Search, Stage};

use std::sync::Arc;

use crate::history::{Atom, AtomKind, History, View};
use crate::ledger::Weights;
use crate::message::Message;
use crate::model::Model;
use crate::reason::Reason;
use crate::reduce;
use crate::setting::Threshold;
use crate::summary::Summarise;
use crate::thinking;
use crate::warning::{Warning, WarningKind};

/// What a fold does with one atom.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Item {
    /// The index of the atom.
    pub atom: usize,
    /// What is done with it.
    pub treatment: Treatment,
    /// What is sent for it; `None` if it is sent unchanged.
    pub views: Option<Vec<View>>,
    /// The tokens of what is sent.
    pub tokens: usize,
    /// Why, for people.
    pub reason: String,
    /// Whether it is always kept, in front of the summary.
    pub pinned: bool,
    /// Whether it is kept for now, because it opens a turn of which a part is kept.
    held: bool,
    /// Whether the stages have seen it as a new atom.
    arrived: bool,
}

/// A fold that the stages are working on.
#[derive(Debug)]
#[non_exhaustive]
pub struct Draft<'a> {
    /// The whole conversation.
    pub history: &'a History,
    /// The token limits.
    pub marks: Marks,
    /// The model that is called.
    pub model: &'a Model,
    warnings: Vec<Warning>,
    /// How dropped atoms are summarized, if a stage asked for it.
    pub summary: Option<Summarise>,
    /// Whether the context before the fold had a summary. If so, the new one must have one too.
    pub had_summary: bool,
    /// The tokens of that summary.
    summary_before: usize,
    /// How the ledger ranks values.
    pub weights: &'a Weights,
    /// The atoms that the context before the fold did not show.
    pub hidden: Vec<usize>,
    /// The passages that the caller found for the newest user message, best first; `None` if the
    /// caller did not search.
    pub recalled: Option<&'a [Passage]>,
    stages: &'a [Arc<dyn Stage>],
    items: Vec<Item>,
    total: usize,
    before: usize,
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
    /// Tokens of the context before the fold.
    pub(crate) before: usize,
    pub(crate) had_summary: bool,
    /// Tokens of the summary that it had.
    pub(crate) summary_before: usize,
    pub(crate) hidden: Vec<usize>,
    pub(crate) recalled: Option<&'a [Passage]>,
}

impl Item {
    /// Creates an item that sends the atom unchanged, or omits it if it cannot be sent.
    #[must_use]
    pub fn new(history: &History, atom: usize) -> Self {
        let known = history.atom(atom);
        let sendable = known.is_some_and(Atom::is_sendable);
        // What is sent for several messages may differ from them: missing results are added, text
        // is moved, thinking is left out.
        let is_single = known.is_some_and(|atom| atom.open.is_empty() && atom.messages.len() == 1);
        let tokens = || match known {
            Some(known) if is_single => known.tokens,
            _ => history.views(atom, 0).iter().map(|view| view.tokens(history)).sum(),
        };
        Self {
            atom,
            treatment: if sendable { Treatment::Verbatim } else { Treatment::Omitted },
            views: None,
            tokens: if sendable { tokens() } else { 0 },
            reason: known.map_or_else(String::new, |atom| reason(history, atom)),
            pinned: false,
            held: false,
            arrived: false,
        }
    }

    /// Returns what is sent for it.
    #[must_use]
    pub fn views(&self, history: &History) -> Vec<View> {
        if self.treatment.is_sent() {
            self.views.clone().unwrap_or_else(|| history.views(self.atom, 0))
        } else {
            Vec::new()
        }
    }

    /// Omits the atom.
    pub fn omit(&mut self, reason: impl Into<String>) {
        self.treatment = Treatment::Omitted;
        self.views = None;
        self.tokens = 0;
        self.reason = reason.into();
    }

    /// Sends something shorter instead. Returns false and changes nothing if it is not shorter, so
    /// that no stage can make a message longer.
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

/// Returns the reason of an item that no stage has changed.
fn reason(history: &History, atom: &Atom) -> String {
    if !atom.is_sendable() {
        atom.unsendable_reason().into()
    } else if !atom.open.is_empty() {
        Reason::Interrupted.into()
    } else if atom.messages.iter().any(|&message| history.is_repaired(message)) {
        Reason::Repaired.into()
    } else {
        String::new()
    }
}

/// The ledger grows in a conversation that is longer than this many windows.
const LEDGER_WINDOWS: usize = 4;

impl<'a> Draft<'a> {
    /// Creates a draft in which everything is kept.
    #[must_use]
    pub(crate) fn new(start: Start<'a>) -> Self {
        let Start { history, marks, model, stages, weights, tools, before, .. } = start;
        let Start { had_summary, summary_before, hidden, recalled, .. } = start;
        let items: Vec<Item> =
            (0..history.atoms().len()).map(|atom| Item::new(history, atom)).collect();
        let total = tools + items.iter().map(|item| item.tokens).sum::<usize>();
        let warnings = Vec::new();
        Self {
            history,
            marks,
            model,
            warnings,
            summary: None,
            had_summary,
            summary_before,
            weights,
            hidden,
            recalled,
            stages,
            items,
            total,
            before,
        }
    }

    /// Returns the items, one per atom, oldest first.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns the item of an atom.
    #[must_use]
    pub fn item(&self, at: usize) -> Option<&Item> {
        self.items.get(at)
    }

    /// Returns the tokens of the context with the current items.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.total
    }

    /// Returns the tokens of the context with the current items and a summary: the one that a stage
    /// asked for, or the one that the context had.
    #[must_use]
    pub fn projected(&self) -> usize {
        self.total + if self.summary.is_some() { self.reserved() } else { self.summary_before }
    }

    /// Returns the most tokens that the summary block may take.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.summary
            .as_ref()
            .map_or(0, |settings| self.marks.tokens(settings.max) + self.ledger_tokens(settings))
    }

    /// Returns the most tokens of the ledger. More values compete for it in a long conversation, so
    /// it grows with the conversation once that is longer than a few windows.
    #[must_use]
    pub fn ledger_tokens(&self, settings: &Summarise) -> usize {
        let base = self.marks.tokens(settings.ledger);
        let conversation = self.history.tokens().saturating_sub(self.history.system_tokens());
        let usual = (self.marks.available * LEDGER_WINDOWS).max(1);
        let grown = base.saturating_mul(conversation) / usual;
        base.max(grown.min(self.marks.tokens(settings.ledger_max)))
    }

    /// Returns whether the context would have more tokens than this.
    #[must_use]
    pub fn is_over(&self, threshold: Threshold) -> bool {
        self.projected() > self.marks.threshold(threshold)
    }

    /// Returns the tokens of the context before the fold.
    #[must_use]
    pub const fn before(&self) -> usize {
        self.before
    }

    /// Returns the kind of an atom.
    #[must_use]
    pub fn kind(&self, at: usize) -> AtomKind {
        self.history.atom(at).map_or(AtomKind::Empty, |atom| atom.kind)
    }

    /// Returns whether an atom is still sent and is not a system message.
    #[must_use]
    pub fn is_kept(&self, at: usize) -> bool {
        self.item(at).is_some_and(|item| item.treatment.is_sent())
            && self.kind(at) != AtomKind::System
    }

    /// Returns the kept atoms of the conversation, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let kept: Vec<usize> = (0..self.items.len()).rev().filter(|&at| self.is_kept(at)).collect();
        kept.into_iter()
    }

    /// Returns the kept atoms of the conversation, oldest first.
    pub fn oldest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let kept: Vec<usize> = (0..self.items.len()).filter(|&at| self.is_kept(at)).collect();
        kept.into_iter()
    }

    /// Returns the turns of which something is still sent, oldest first.
    #[must_use]
    pub fn kept_turns(&self) -> Vec<usize> {
        let turns = 0..self.history.turns().len();
        turns.filter(|&turn| self.history.turn_atoms(turn).any(|at| self.is_kept(at))).collect()
    }

    /// Returns the atoms that open the steps of which something is still sent, oldest first.
    #[must_use]
    pub fn kept_steps(&self) -> Vec<usize> {
        let steps = self.history.steps();
        let ends = steps.iter().skip(1).copied().chain([self.items.len()]);
        // A pinned message stays without its step.
        let counts = |at| self.is_kept(at) && self.item(at).is_some_and(|item| !item.pinned);
        let kept = steps.iter().copied().zip(ends).filter(|&(from, to)| (from..to).any(counts));
        kept.map(|(from, _)| from).collect()
    }

    /// Returns the user message that opens the turn of an atom.
    #[must_use]
    pub fn opener_of(&self, at: usize) -> Option<usize> {
        let turn = self.history.atom(at).map_or(0, |atom| atom.turn);
        let mut openers = self.history.turns().iter().take(turn).rev().copied();
        openers.find(|&opener| opener < at && self.kind(opener) == AtomKind::User)
    }

    /// Returns whether a stage of the policy replaces what is dropped with a summary.
    #[must_use]
    pub fn summarises(&self) -> bool {
        self.stages.iter().any(|stage| stage.summarises())
    }

    /// Returns the first atom of the running turn.
    #[must_use]
    pub fn running(&self) -> usize {
        self.history.turns().last().copied().unwrap_or(0)
    }

    /// Returns whether an atom must stay under every policy: the newest user message and the newest
    /// step.
    #[must_use]
    pub fn is_protected(&self, at: usize) -> bool {
        let latest = [self.history.latest_user(), self.history.latest_text()];
        let mut atoms =
            latest.into_iter().flatten().filter_map(|message| self.history.atom_of(message));
        atoms.any(|atom| atom == at) || Some(at) == self.newest()
    }

    fn newest(&self) -> Option<usize> {
        (0..self.items.len()).rev().find(|&at| self.is_kept(at))
    }

    /// Lets the stages change an atom as if it were sent for the first time.
    pub fn arrive(&mut self, at: usize) {
        let Some(item) =
            self.items.get_mut(at).filter(|item| !item.arrived && item.treatment.is_sent())
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
            hidden: &[],
            recalled: None,
        };
        for stage in self.stages {
            stage.arrive(item, &arrival);
        }
        self.total = self.total + item.tokens - before;
    }

    /// Drops an atom and returns whether it did. Protected, pinned and system atoms stay.
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

    /// Truncates long texts as the policy does in an emergency. Protected messages stay whole.
    pub fn truncate_texts(&mut self) {
        for stage in self.stages {
            stage.truncate_texts(self);
        }
    }

    /// Drops what the context before the fold did not show either.
    pub fn drop_hidden(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        for at in self.hidden.clone() {
            self.drop(at, reason.as_str());
        }
    }

    /// Drops a system message from the middle of the conversation. One at the very end stays,
    /// because the model is supposed to act on it.
    pub fn drop_system(&mut self, at: usize, reason: impl Into<String>) {
        let is_last = self.newest().is_none_or(|newest| at > newest);
        if is_last || at < self.history.system_prefix() || self.kind(at) != AtomKind::System {
            return;
        }
        if let Some(item) = self.items.get_mut(at).filter(|item| item.treatment.is_sent()) {
            self.total -= item.tokens;
            item.omit(reason);
        }
    }

    /// Sends something shorter for an atom. Returns whether it was shorter.
    pub fn replace(
        &mut self,
        at: usize,
        treatment: Treatment,
        views: Vec<View>,
        reason: impl Into<String>,
    ) -> bool {
        let history = self.history;
        if at < history.system_prefix() {
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

    /// Pins an atom, so that it is kept in front of the summary.
    pub fn pin(&mut self, at: usize, reason: impl Into<String>) {
        if self.is_kept(at)
            && let Some(item) = self.items.get_mut(at)
        {
            item.pinned = true;
            item.reason = reason.into();
        }
    }

    /// Returns whether a passage is in what is sent.
    #[must_use]
    pub fn shows(&self, passage: &Passage) -> bool {
        let Some(at) = self.history.atom_of(passage.message) else { return false };
        let views = self.views(at);
        self.kind(at) == AtomKind::System
            || passage.is_in(views.iter().filter_map(|view| view.message(self.history)))
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

    /// Returns what is sent for an atom.
    #[must_use]
    pub fn views(&self, at: usize) -> Vec<View> {
        self.item(at).map(|item| item.views(self.history)).unwrap_or_default()
    }

    /// Removes the thinking from an atom.
    pub fn drop_thinking(&mut self, at: usize) {
        let views = self.views(at);
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
        self.change(at, |item, history| {
            item.tokens = bare.iter().map(|view| view.tokens(history)).sum();
            item.views = Some(bare);
            if item.reason.is_empty() {
                item.reason = Reason::NoThinking.into();
            }
        });
    }

    /// Changes an item in a way that may make it longer, and updates the total.
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

    /// Truncates an atom to about `target` tokens: its largest messages lose their middle.
    pub fn clip(&mut self, at: usize, target: usize, reason: impl Into<String>) -> bool {
        let history = self.history;
        let views = self.views(at);
        let sizes: Vec<usize> = views.iter().map(|view| view.tokens(history)).collect();
        let max_size = max_size(&sizes, target);
        self.reduce(at, Treatment::Trimmed, reason, |message| {
            reduce::clip(message, history.counter(), max_size)
        })
    }

    /// Releases every atom that [`Draft::hold`] keeps.
    pub(crate) fn release(&mut self) {
        self.items.iter_mut().for_each(|item| item.held = false);
    }

    /// Keeps an atom until [`Draft::release`], even if it was dropped.
    pub(crate) fn hold(&mut self, at: usize, reason: Reason) {
        let fresh = Item::new(self.history, at);
        let Some(item) = self.items.get_mut(at) else { return };
        if !item.treatment.is_sent() {
            *item = Item { reason: reason.into(), ..fresh };
            self.total += item.tokens;
        }
        item.held = true;
    }

    /// Shortens every message of an atom with `shorten`, which returns `None` for a message that
    /// stays. Returns whether the atom got shorter.
    pub fn reduce(
        &mut self,
        at: usize,
        treatment: Treatment,
        reason: impl Into<String>,
        shorten: impl Fn(&Message) -> Option<Message>,
    ) -> bool {
        match reduce_views(self.history, self.views(at), shorten) {
            Some(views) => self.replace(at, treatment, views, reason),
            None => false,
        }
    }

    /// Adds a warning, unless it was already added.
    pub fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        let warning = Warning::new(kind, text);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<Item>, Vec<Warning>, usize) {
        (self.items, self.warnings, self.total)
    }
}

/// Returns the largest size that each of `sizes` may keep so that together they are at most
/// `target`.
pub(crate) fn max_size(sizes: &[usize], target: usize) -> usize {
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

/// Applies `shorten` to the message of each view. Returns `None` if it shortened none.
pub(crate) fn reduce_views(
    history: &History,
    views: Vec<View>,
    shorten: impl Fn(&Message) -> Option<Message>,
) -> Option<Vec<View>> {
    let mut changed = false;
    let reduced = views
        .into_iter()
        .map(|view| match view.message(history).and_then(&shorten) {
            Some(shorter) => {
                changed = true;
                View::made(shorter)
            }
            None => view,
        })
        .collect();
    changed.then_some(reduced)
}
