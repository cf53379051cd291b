//! Which values go into the ledger: by what each adds for the room it takes. A long value shows the
//! ones inside it too (a path its file name), so its gain is theirs as well, as far as nothing
//! chosen shows them already.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Entry, value};
use crate::tokens::Counter;

/// So many entries that do not fit end the search for one that does.
const MISSES: usize = 32;

/// The best entries within the budget, best first.
pub(super) fn choose<'a>(
    entries: &[Entry<'a>],
    counter: &Counter,
    budget: usize,
) -> Vec<Entry<'a>> {
    let odds: FxHashMap<&str, f64> =
        entries.iter().map(|entry| (entry.value, entry.odds)).collect();
    let mut covered: FxHashSet<&str> = FxHashSet::default();
    let mut heap: BinaryHeap<Offer<'a>> =
        entries.iter().map(|entry| Offer::of(*entry, &odds, &covered)).collect();
    let mut chosen: Vec<Entry<'a>> = Vec::new();
    let (mut left, mut misses) = (budget, 0);
    while let Some(offer) = heap.pop() {
        if covered.contains(offer.entry.value) {
            continue;
        }
        // What was chosen since may show a part of it: the offer stands only if it is still the
        // best.
        let now = Offer::of(offer.entry, &odds, &covered);
        if now.worth < offer.worth && heap.peek().is_some_and(|next| *next > now) {
            heap.push(now);
            continue;
        }
        let cost = counter.text(offer.entry.value) + 1;
        if cost > left {
            misses += 1;
            if misses > MISSES {
                break;
            }
            continue;
        }
        left -= cost;
        covered.insert(offer.entry.value);
        covered.extend(value::pieces(offer.entry.value));
        chosen.push(offer.entry);
    }
    // A value may have been chosen before a longer one that shows it.
    let inside: FxHashSet<&str> =
        chosen.iter().flat_map(|entry| value::pieces(entry.value)).collect();
    chosen.retain(|entry| !inside.contains(entry.value));
    chosen
}

/// An entry with what it would add.
#[derive(PartialEq)]
struct Offer<'a> {
    entry: Entry<'a>,
    worth: f64,
}

impl<'a> Offer<'a> {
    fn of(entry: Entry<'a>, odds: &FxHashMap<&str, f64>, covered: &FxHashSet<&str>) -> Self {
        let inside = value::pieces(entry.value).filter(|piece| !covered.contains(piece));
        let gain: f64 = entry.odds + inside.filter_map(|piece| odds.get(piece)).sum::<f64>();
        #[expect(clippy::cast_precision_loss, reason = "a length is far below 2^52")]
        let room = (entry.value.len() + 2) as f64;
        Self { entry, worth: gain / room }
    }
}

impl Eq for Offer<'_> {}

impl Ord for Offer<'_> {
    /// Equal worths are common; the text decides, so that the same history gives the same ledger.
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then_with(|| other.entry.value.cmp(self.entry.value))
    }
}

impl PartialOrd for Offer<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
