//! Chooses the values of the ledger by their gain per character. A long value shows the values
//! inside it too (a path its file name), so their gain is added unless a chosen value already shows
//! them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Entry, value};
use crate::tokens::Counter;

/// The search ends after this many entries that do not fit.
const MAX_MISSES: usize = 32;

/// Returns the best entries within the budget, best first.
pub(super) fn choose<'a>(
    entries: &[Entry<'a>],
    counter: &Counter,
    budget: usize,
) -> Vec<Entry<'a>> {
    let odds: FxHashMap<&str, f64> =
        entries.iter().map(|entry| (entry.value, entry.odds)).collect();
    let mut covered: FxHashSet<&str> = FxHashSet::default();
    let mut heap: BinaryHeap<Candidate<'a>> =
        entries.iter().map(|entry| Candidate::of(*entry, &odds, &covered)).collect();
    let mut chosen: Vec<Entry<'a>> = Vec::new();
    let mut left = budget;
    let mut misses = 0;
    while let Some(candidate) = heap.pop() {
        if covered.contains(candidate.entry.value) {
            continue;
        }
        // A value chosen since then may show a part of this one. It is taken only if it is still
        // the best.
        let now = Candidate::of(candidate.entry, &odds, &covered);
        if now.worth < candidate.worth && heap.peek().is_some_and(|next| *next > now) {
            heap.push(now);
            continue;
        }
        let cost = counter.text(candidate.entry.value) + 1;
        if cost > left {
            misses += 1;
            if misses > MAX_MISSES {
                break;
            }
            continue;
        }
        left -= cost;
        covered.insert(candidate.entry.value);
        covered.extend(value::pieces(candidate.entry.value));
        chosen.push(candidate.entry);
    }
    // A longer value that was chosen later may show this one.
    let inside: FxHashSet<&str> =
        chosen.iter().flat_map(|entry| value::pieces(entry.value)).collect();
    chosen.retain(|entry| !inside.contains(entry.value));
    chosen
}

/// An entry with its gain per character.
#[derive(PartialEq)]
struct Candidate<'a> {
    entry: Entry<'a>,
    worth: f64,
}

impl<'a> Candidate<'a> {
    fn of(entry: Entry<'a>, odds: &FxHashMap<&str, f64>, covered: &FxHashSet<&str>) -> Self {
        let inside = value::pieces(entry.value).filter(|piece| !covered.contains(piece));
        let gain: f64 = entry.odds + inside.filter_map(|piece| odds.get(piece)).sum::<f64>();
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2^52")]
        let length = (entry.value.len() + 2) as f64;
        Self { entry, worth: gain / length }
    }
}

impl Eq for Candidate<'_> {}

impl Ord for Candidate<'_> {
    /// Equal worths are common. The text decides then, so that the same history gives the same
    /// ledger.
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then_with(|| other.entry.value.cmp(self.entry.value))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
