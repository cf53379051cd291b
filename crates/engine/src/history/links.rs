//! Tracks which call ids are in use, and which atoms wait for which results.

use rustc_hash::{FxHashMap, FxHashSet};

/// The calls and results seen so far, by the ids they were appended with.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// Every id that is sent, with the suffix that the next call with this id gets, so that no id
    /// is sent twice.
    used: FxHashMap<String, usize>,
    /// For each appended id, the atoms that wait for its result.
    waiting: FxHashMap<String, Vec<usize>>,
    /// The ids that have a result.
    answered: FxHashSet<String>,
    /// Results that precede the call with their id.
    early: FxHashMap<String, usize>,
    /// The ids of calls that were sent but are not loaded yet. The calls get them when they are
    /// loaded.
    reserved: Vec<String>,
    /// Messages whose calls were sent with their own ids.
    unchanged: FxHashSet<usize>,
}

impl Links {
    /// Returns the id under which a call is sent: its own id if that is free, or a new one.
    pub(super) fn claim(&mut self, given: &str, message: usize, part: usize) -> String {
        let wanted =
            if given.is_empty() { format!("call_{message}_{part}") } else { given.to_owned() };
        if !self.unchanged.contains(&message)
            && let Some(at) = self.reserved.iter().position(|id| is_derived(id, &wanted))
        {
            return self.reserved.remove(at);
        }
        let Some(mut suffix) = self.used.get(&wanted).copied() else {
            self.used.insert(wanted.clone(), 2);
            return wanted;
        };
        let mut id = format!("{wanted}_{suffix}");
        while self.used.contains_key(&id) {
            suffix += 1;
            id = format!("{wanted}_{suffix}");
        }
        self.used.insert(wanted, suffix + 1);
        self.used.insert(id.clone(), 2);
        id
    }

    /// Marks an id as used by a call that was sent. Unless the call is in the past, it is still to
    /// be loaded.
    pub(super) fn hold(&mut self, id: &str, is_past: bool) {
        self.used.entry(id.to_owned()).or_insert(2);
        if !is_past {
            self.reserved.push(id.to_owned());
        }
    }

    /// Records that the calls of a message were sent with their own ids.
    pub(super) fn keep(&mut self, message: usize) {
        self.unchanged.insert(message);
    }

    /// Makes an atom wait for a result. Returns a result that arrived before the call.
    pub(super) fn wait(&mut self, given: &str, atom: usize) -> Option<usize> {
        self.waiting.entry(given.to_owned()).or_default().push(atom);
        self.early.remove(given)
    }

    /// Returns the newest atom that waits for this id.
    pub(super) fn waiting_for(&self, given: &str) -> Option<usize> {
        self.waiting.get(given).and_then(|atoms| atoms.last().copied())
    }

    /// Records that the newest atom that waits for this id got its result.
    pub(super) fn answered(&mut self, given: &str) {
        if let Some(atoms) = self.waiting.get_mut(given) {
            atoms.pop();
            if atoms.is_empty() {
                self.waiting.remove(given);
            }
        }
        self.answered.insert(given.to_owned());
    }

    /// Returns whether a call with this id already has a result.
    pub(super) fn was_answered(&self, given: &str) -> bool {
        self.answered.contains(given)
    }

    /// Remembers a result without a call: the call may still arrive.
    pub(super) fn remember_early(&mut self, given: &str, message: usize) {
        if !given.is_empty() {
            self.early.insert(given.to_owned(), message);
        }
    }
}

/// Returns whether `id` is `wanted` itself, or `wanted` with a suffix.
fn is_derived(id: &str, wanted: &str) -> bool {
    match id.strip_prefix(wanted) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('_')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    }
}
