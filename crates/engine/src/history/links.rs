//! Which ids are taken, and which atoms wait for which result.

use rustc_hash::{FxHashMap, FxHashSet};

/// The calls and results seen so far, by the ids they came with.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// Every id that is sent, with the number that the next one like it gets, so that none is sent
    /// twice.
    used: FxHashMap<String, usize>,
    /// For each id that calls came with, the atoms that wait for a result of it.
    waiting: FxHashMap<String, Vec<usize>>,
    /// Ids that got their answer.
    answered: FxHashSet<String>,
    /// Results that came before any call of their id.
    early: FxHashMap<String, usize>,
    /// Ids under which calls were sent that are still to be loaded: they keep them.
    granted: Vec<String>,
    /// Messages whose calls were sent as they came.
    plain: FxHashSet<usize>,
}

impl Links {
    /// The id under which a call is sent: its own where that is free, else a new one.
    pub(super) fn claim(&mut self, given: &str, message: usize, part: usize) -> String {
        let wished =
            if given.is_empty() { format!("call_{message}_{part}") } else { given.to_owned() };
        if !self.plain.contains(&message)
            && let Some(at) = self.granted.iter().position(|id| is_made_of(id, &wished))
        {
            return self.granted.remove(at);
        }
        let Some(mut round) = self.used.get(&wished).copied() else {
            self.used.insert(wished.clone(), 2);
            return wished;
        };
        let mut id = format!("{wished}_{round}");
        while self.used.contains_key(&id) {
            round += 1;
            id = format!("{wished}_{round}");
        }
        self.used.insert(wished, round + 1);
        self.used.insert(id.clone(), 2);
        id
    }

    /// An id is taken by a call that was sent; unless that lies in the past, the call itself is
    /// still to be loaded.
    pub(super) fn hold(&mut self, id: &str, is_past: bool) {
        self.used.entry(id.to_owned()).or_insert(2);
        if !is_past {
            self.granted.push(id.to_owned());
        }
    }

    /// The calls of a message were sent as they came.
    pub(super) fn keep(&mut self, message: usize) {
        self.plain.insert(message);
    }

    /// An atom begins to wait for a result; hands over a result that came too early.
    pub(super) fn wait(&mut self, given: &str, atom: usize) -> Option<usize> {
        self.waiting.entry(given.to_owned()).or_default().push(atom);
        self.early.remove(given)
    }

    /// The newest atom that waits for this id.
    pub(super) fn waiting_for(&self, given: &str) -> Option<usize> {
        self.waiting.get(given).and_then(|atoms| atoms.last().copied())
    }

    /// The newest atom that waited for this id got its result.
    pub(super) fn answered(&mut self, given: &str) {
        if let Some(atoms) = self.waiting.get_mut(given) {
            atoms.pop();
            if atoms.is_empty() {
                self.waiting.remove(given);
            }
        }
        self.answered.insert(given.to_owned());
    }

    /// Whether a call of this id was answered before.
    pub(super) fn was_answered(&self, given: &str) -> bool {
        self.answered.contains(given)
    }

    /// A result nobody asked for is remembered: its call may still come.
    pub(super) fn remember_early(&mut self, given: &str, message: usize) {
        if !given.is_empty() {
            self.early.insert(given.to_owned(), message);
        }
    }
}

/// Whether an id is the one that was wished for, or a new one made of it.
fn is_made_of(id: &str, wished: &str) -> bool {
    match id.strip_prefix(wished) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('_')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    }
}
