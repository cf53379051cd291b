//! Chooses the values of the ledger by their gain per character. A long value shows the values
//! inside it too (a path its file name), so their gain is added unless a chosen value already shows
//! them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use super::ranking::{Entry, Ranking, worth};
use super::{Shown, value};
use crate::tokens::Counter;

/// The search ends after this many entries that do not fit.
const MAX_MISSES: usize = 32;

/// Returns the best values within the budget that are not shown, best first.
pub(super) fn choose<'a>(
    ranking: &Ranking<'a>,
    shown: &Shown<'_>,
    counter: &Counter,
    budget: usize,
) -> Vec<Entry<'a>> {
    let mut queue = Queue::new(ranking, shown);
    let mut chosen: Vec<Entry<'a>> = Vec::new();
    let mut left = budget;
    let mut misses = 0;
    while let Some(entry) = queue.next() {
        let cost = counter.text(entry.value) + 1;
        if cost > left {
            misses += 1;
            if misses > MAX_MISSES {
                break;
            }
            continue;
        }
        left -= cost;
        queue.cover(entry.value);
        chosen.push(entry);
    }
    // A longer value that was chosen later may show this one.
    let inside: FxHashSet<&str> =
        chosen.iter().flat_map(|entry| value::pieces(entry.value)).collect();
    chosen.retain(|entry| !inside.contains(entry.value));
    chosen
}

/// The values in the order of their worth, which shrinks as other values are chosen.
struct Queue<'r, 'a> {
    ranking: &'r Ranking<'a>,
    shown: &'r Shown<'r>,
    /// The values not examined yet, in the order of the most that they can be worth.
    rest: std::iter::Peekable<std::slice::Iter<'r, (f64, u32)>>,
    /// The examined values, in the order of their worth when they were examined.
    seen: BinaryHeap<RankedValue<'a>>,
    /// What the chosen values show.
    covered: FxHashSet<&'a str>,
}

impl<'r, 'a> Queue<'r, 'a> {
    fn new(ranking: &'r Ranking<'a>, shown: &'r Shown<'_>) -> Self {
        Self {
            ranking,
            shown,
            rest: ranking.order().iter().peekable(),
            seen: BinaryHeap::new(),
            covered: FxHashSet::default(),
        }
    }

    /// Returns the value that is worth most now.
    fn next(&mut self) -> Option<Entry<'a>> {
        loop {
            self.examine_rest();
            let best = self.seen.pop()?;
            if self.covered.contains(best.entry.value) {
                continue;
            }
            // A value chosen since then may show a part of this one. It is taken only if it is
            // still the best.
            let now = self.candidate(best.entry);
            let is_best = self.seen.peek().is_none_or(|next| *next <= now)
                && self.rest.peek().is_none_or(|(most, _)| *most < now.worth);
            if now.worth >= best.worth || is_best {
                return Some(now.entry);
            }
            self.seen.push(now);
        }
    }

    /// Examines the values that may be worth more than the best one so far.
    fn examine_rest(&mut self) {
        while let Some(&&(most, number)) = self.rest.peek() {
            if self.seen.peek().is_some_and(|best| best.worth > most) {
                return;
            }
            self.rest.next();
            if let Some(entry) = self.ranking.unshown(number, self.shown) {
                self.seen.push(self.candidate(entry));
            }
        }
    }

    fn candidate(&self, entry: Entry<'a>) -> RankedValue<'a> {
        let inside = value::pieces(entry.value).filter(|piece| !self.covered.contains(piece));
        let odds = inside.filter_map(|piece| self.ranking.odds_of(piece, self.shown));
        RankedValue { entry, worth: worth(entry.value, entry.odds, odds) }
    }

    fn cover(&mut self, value: &'a str) {
        self.covered.insert(value);
        self.covered.extend(value::pieces(value));
    }
}

/// An entry with its gain per character.
#[derive(PartialEq)]
struct RankedValue<'a> {
    entry: Entry<'a>,
    worth: f64,
}

impl Eq for RankedValue<'_> {}

impl Ord for RankedValue<'_> {
    /// Ties are common. The text breaks them, so that the same history gives the same ledger.
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then_with(|| other.entry.value.cmp(self.entry.value))
    }
}

impl PartialOrd for RankedValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
