//! What stages ask a draft: its atoms and turns, its tokens, and what must stay.

use super::{Draft, Item};
use crate::history::{AtomKind, View};
use crate::setting::{Size, Threshold};
use crate::summary::Summarize;

/// The ledger grows in a conversation that is longer than this many windows.
const LEDGER_WINDOWS: usize = 3;

/// The ledger never has more tokens than this: a longer list does not help a model.
const MAX_LEDGER: usize = 12_000;

impl Draft<'_> {
    /// Returns the items, one per atom, oldest first.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns the item of an atom.
    #[must_use]
    pub fn item(&self, atom: usize) -> Option<&Item> {
        self.items.get(atom)
    }

    /// Returns the tokens of the context with the current items.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.total
    }

    /// Returns the tokens of the context with the current items and a summary: the one that a stage
    /// asked for, or the one that the context had.
    #[must_use]
    pub fn projected_tokens(&self) -> usize {
        self.total
            + if self.summary_settings.is_some() {
                self.reserved_tokens()
            } else {
                self.earlier_block_tokens
            }
    }

    /// As [`Draft::projected_tokens`], and counts the summary that a later stage will ask for once
    /// something is dropped.
    #[must_use]
    pub fn projected_with_summary(&self) -> usize {
        let has_dropped = self.items.iter().any(|item| !item.treatment.is_sent());
        let settings = self.stages.iter().find_map(|stage| stage.summary());
        let block =
            settings.filter(|_| has_dropped).map_or(0, |settings| self.max_block_tokens(settings));
        self.projected_tokens().max(self.total + block)
    }

    /// Returns the maximum number of tokens of the summary block.
    #[must_use]
    pub fn reserved_tokens(&self) -> usize {
        if self.keeps_block {
            return self.earlier_block_tokens;
        }
        self.summary_settings.as_ref().map_or(0, |settings| self.max_block_tokens(settings))
    }

    fn max_block_tokens(&self, settings: &Summarize) -> usize {
        self.marks.tokens(settings.max) + self.ledger_tokens(settings)
    }

    /// Returns the maximum number of tokens of the ledger. More values compete for it in a long
    /// conversation, so it grows with the conversation once that is longer than a few windows.
    #[must_use]
    pub fn ledger_tokens(&self, settings: &Summarize) -> usize {
        let base = self.marks.tokens(settings.ledger);
        let conversation = self.history_conversation_tokens();
        let usual = (self.marks.available * LEDGER_WINDOWS).max(1);
        let grown = base.saturating_mul(conversation) / usual;
        base.max(grown.min(self.marks.tokens(settings.ledger_max))).min(MAX_LEDGER)
    }

    /// Returns the tokens of the whole conversation, without the system prompt.
    #[must_use]
    pub fn history_conversation_tokens(&self) -> usize {
        self.history.tokens().saturating_sub(self.history.system_tokens())
    }

    /// Returns whether the context would have more tokens than this.
    #[must_use]
    pub fn is_over(&self, threshold: Threshold) -> bool {
        self.projected_tokens() > self.marks.threshold(threshold)
    }

    /// Returns the tokens of the context before the fold.
    #[must_use]
    pub const fn unfolded(&self) -> usize {
        self.unfolded
    }

    /// Returns this share of the conversation as it was sent before the fold, in tokens.
    #[must_use]
    pub fn share_of_conversation(&self, share: Size) -> usize {
        let conversation = self.unfolded.saturating_sub(self.marks.fixed);
        share.of_rounded_up(conversation).min(conversation)
    }

    /// Returns the kind of an atom.
    #[must_use]
    pub fn kind(&self, atom: usize) -> AtomKind {
        self.history.atom(atom).map_or(AtomKind::Empty, |atom| atom.kind)
    }

    /// Returns whether an atom is still sent and is not a system message.
    #[must_use]
    pub fn is_kept(&self, atom: usize) -> bool {
        self.item(atom).is_some_and(|item| item.treatment.is_sent())
            && self.kind(atom) != AtomKind::System
    }

    /// Returns the kept atoms of the conversation, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let kept: Vec<usize> =
            (0..self.items.len()).rev().filter(|&atom| self.is_kept(atom)).collect();
        kept.into_iter()
    }

    /// Returns the kept atoms of the conversation, oldest first.
    pub fn oldest_first(&self) -> impl Iterator<Item = usize> + use<> {
        let kept: Vec<usize> = (0..self.items.len()).filter(|&atom| self.is_kept(atom)).collect();
        kept.into_iter()
    }

    /// Returns the turns of which something is still sent, oldest first.
    #[must_use]
    pub fn kept_turns(&self) -> Vec<usize> {
        let turns = 0..self.history.turns().len();
        turns.filter(|&turn| self.history.turn_atoms(turn).any(|atom| self.is_kept(atom))).collect()
    }

    /// Returns the atoms that open the steps of which something is still sent, oldest first.
    #[must_use]
    pub fn kept_steps(&self) -> Vec<usize> {
        let steps = self.history.steps();
        let ends = steps.iter().skip(1).copied().chain([self.items.len()]);
        // A pinned message stays without its step.
        let counts = |atom| self.is_kept(atom) && self.item(atom).is_some_and(|item| !item.pinned);
        let kept = steps.iter().copied().zip(ends).filter(|&(from, to)| (from..to).any(counts));
        kept.map(|(from, _)| from).collect()
    }

    /// Returns the user message that opens the turn of an atom.
    #[must_use]
    pub fn opener_of(&self, atom: usize) -> Option<usize> {
        let turn = self.history.atom(atom).map_or(0, |atom| atom.turn);
        let mut openers = self.history.turns().iter().take(turn).rev().copied();
        openers.find(|&opener| opener < atom && self.kind(opener) == AtomKind::User)
    }

    /// Returns whether a stage of the policy replaces what is dropped with a summary.
    #[must_use]
    pub fn summarizes(&self) -> bool {
        self.stages.iter().any(|stage| stage.summary().is_some())
    }

    /// Returns how many of the newest steps the policy keeps, if it keeps a number of steps.
    #[must_use]
    pub fn steps_to_keep(&self) -> Option<usize> {
        self.stages.iter().find_map(|stage| stage.steps())
    }

    /// Returns the first atom of the running turn.
    #[must_use]
    pub fn running_turn_start(&self) -> usize {
        self.history.turns().last().copied().unwrap_or(0)
    }

    /// Returns whether an atom must stay under every policy: the newest user message and the newest
    /// step.
    #[must_use]
    pub fn is_protected(&self, atom: usize) -> bool {
        let latest = [self.history.latest_user(), self.history.latest_text()];
        let mut atoms =
            latest.into_iter().flatten().filter_map(|message| self.history.atom_of(message));
        atoms.any(|other| other == atom) || Some(atom) == self.newest()
    }

    /// Returns the tokens of the kept messages that must stay under every policy.
    #[must_use]
    pub fn protected_tokens(&self) -> usize {
        let protected = self.newest_first().filter(|&atom| self.is_protected(atom));
        protected.filter_map(|atom| self.item(atom)).map(|item| item.tokens).sum()
    }

    pub(super) fn newest(&self) -> Option<usize> {
        (0..self.items.len()).rev().find(|&atom| self.is_kept(atom))
    }

    /// Returns what is sent for an atom.
    #[must_use]
    pub fn views(&self, atom: usize) -> Vec<View> {
        self.item(atom).map(|item| item.views(self.history)).unwrap_or_default()
    }
}
