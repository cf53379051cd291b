//! [`Item`]: what a fold does with one atom.

use super::Treatment;
use crate::history::{Atom, History, View};
use crate::reason::{Reason, Reasons};

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
    /// Why.
    pub reasons: Reasons,
    /// Whether it is always kept.
    pub pinned: bool,
    /// Whether it is kept for one round of shrinking, because it opens a turn that is partly kept.
    pub(super) held: bool,
    /// Whether the stages have seen it as a new atom.
    pub(super) arrived: bool,
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
            reasons: known.map_or_else(Reasons::new, |atom| reasons(history, atom)),
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
    pub fn omit(&mut self, reason: impl Into<Reasons>) {
        self.treatment = Treatment::Omitted;
        self.views = None;
        self.tokens = 0;
        self.reasons = reason.into();
    }

    /// Sends something shorter instead. Returns false and changes nothing if it is not shorter, so
    /// that no stage can make a message longer.
    pub fn replace(
        &mut self,
        history: &History,
        treatment: Treatment,
        views: Vec<View>,
        reason: impl Into<Reasons>,
    ) -> bool {
        let tokens = views.iter().map(|view| view.tokens(history)).sum();
        if tokens >= self.tokens {
            return false;
        }
        self.treatment = treatment;
        self.tokens = tokens;
        self.views = Some(views);
        self.reasons = reason.into();
        true
    }
}

/// Returns the reasons of an item that no stage has changed.
fn reasons(history: &History, atom: &Atom) -> Reasons {
    if !atom.is_sendable() {
        atom.unsendable_reason().into()
    } else if !atom.open.is_empty() {
        Reason::Interrupted.into()
    } else if atom.messages.iter().any(|&message| history.is_repaired(message)) {
        Reason::Repaired.into()
    } else {
        Reasons::new()
    }
}
