//! The values that a ledger could list, ranked once per fold. Which of them a context already shows
//! is asked only for the values that come up for a place in the list.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::index::{Index, Seen};
use super::rank::Weights;
use super::value::{self, Kind};
use super::{Listing, PartSizes, Shown, fill, spelling};
use crate::tokens::Counter;

/// A value that the ledger could list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry<'a> {
    pub(super) value: &'a str,
    pub(super) kind: Kind,
    /// How likely it is to be needed.
    pub(super) odds: f64,
    /// The file that the newest result with it is about.
    pub(super) source: Option<&'a str>,
    /// The newest message that contains it.
    last: usize,
}

/// The values of an index, with their odds.
#[derive(Debug)]
pub struct Ranking<'a> {
    index: &'a Index,
    /// The entry of each value, indexed by the value's number; `None` if it is not to be listed.
    entries: Vec<Option<Entry<'a>>>,
    /// For each value that has other spellings, the numbers of all its spellings, itself included.
    spellings: FxHashMap<u32, Vec<u32>>,
    /// Values, one spelling each, by the most that they can be worth, best first.
    order: Vec<(f64, u32)>,
}

impl<'a> Ranking<'a> {
    /// Ranks the values that `wanted` accepts.
    #[must_use]
    pub fn new(index: &'a Index, weights: &Weights, wanted: impl Fn(&str, &Seen) -> bool) -> Self {
        let sources = index.sources();
        let entry = |(value, seen): (&'a str, &Seen)| {
            wanted(value, seen).then(|| Entry {
                value,
                kind: seen.kind,
                odds: weights.odds(index, value, seen),
                source: sources.get(&seen.source()).copied(),
                last: seen.last,
            })
        };
        let entries: Vec<Option<Entry<'a>>> = index.iter().map(entry).collect();
        let mut ranking =
            Self { index, entries, spellings: FxHashMap::default(), order: Vec::new() };
        ranking.join_spellings();
        ranking.join_short_hashes();
        ranking.sort();
        ranking
    }

    /// Finds the values that are spellings of one path, address, id or number.
    fn join_spellings(&mut self) {
        let mut by_form: FxHashMap<Cow<'_, str>, Vec<u32>> = FxHashMap::default();
        for (number, entry) in numbered(&self.entries) {
            if let Some(form) = spelling::common_form(entry.value, entry.kind) {
                by_form.entry(form).or_default().push(number);
            }
        }
        for (form, mut numbers) in by_form {
            let other = self.index.number(&form).filter(|number| !numbers.contains(number));
            numbers.extend(other.filter(|&number| self.entry(number).is_some()));
            if numbers.len() > 1 {
                numbers.iter().for_each(|&number| {
                    self.spellings.insert(number, numbers.clone());
                });
            }
        }
    }

    /// Lists a short hash as the long one that it is the beginning of.
    fn join_short_hashes(&mut self) {
        let is_hash = |entry: &Entry<'_>| entry.kind == Kind::Hash && !entry.value.contains('-');
        let mut hashes: Vec<(&str, u32)> = numbered(&self.entries)
            .filter(|(number, entry)| is_hash(entry) && !self.spellings.contains_key(number))
            .map(|(number, entry)| (entry.value, number))
            .collect();
        hashes.sort_unstable();
        // The next value in this order is the longer one, if there is one. From the front, the odds
        // of the shortest move on to the longest.
        for pair in hashes.windows(2) {
            let [(short, number), (long, next)] = pair else { continue };
            if long.starts_with(short)
                && let Some(short) = self.entries.get_mut(*number as usize).and_then(Option::take)
                && let Some(long) = self.entries.get_mut(*next as usize).and_then(Option::as_mut)
            {
                long.odds = long.odds.max(short.odds);
                long.last = long.last.max(short.last);
            }
        }
    }

    fn sort(&mut self) {
        let most = |(number, entry): (u32, &Entry<'a>)| match self.spellings.get(&number) {
            None => Some((self.most_worth(entry, entry.odds), number)),
            Some(numbers) if numbers.first() == Some(&number) => {
                let entries = || numbers.iter().filter_map(|&number| self.entry(number));
                let odds = entries().map(|entry| entry.odds).fold(0.0, f64::max);
                let most = entries().map(|entry| self.most_worth(entry, odds)).fold(0.0, f64::max);
                Some((most, number))
            }
            Some(_) => None,
        };
        let mut order: Vec<(f64, u32)> = numbered(&self.entries).filter_map(most).collect();
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        self.order = order;
    }

    /// Returns what a value is worth if nothing is shown.
    fn most_worth(&self, entry: &Entry<'_>, odds: f64) -> f64 {
        let inside = value::pieces(entry.value).filter_map(|piece| {
            let number = self.index.number(piece)?;
            let spellings = self.spellings.get(&number).map(Vec::as_slice);
            let numbers = spellings.unwrap_or(std::slice::from_ref(&number)).iter();
            numbers
                .filter_map(|&number| self.entry(number))
                .map(|entry| entry.odds)
                .reduce(f64::max)
        });
        worth(entry.value, odds, inside)
    }

    fn entry(&self, number: u32) -> Option<&Entry<'a>> {
        self.entries.get(number as usize)?.as_ref()
    }

    /// Returns the values with the most that each can be worth, best first.
    pub(super) fn order(&self) -> &[(f64, u32)] {
        &self.order
    }

    /// Returns the value with this number if it is not shown. Of several spellings of one value, it
    /// is the newest, with the best odds.
    pub(super) fn unshown(&self, number: u32, shown: &Shown<'_>) -> Option<Entry<'a>> {
        let is_unshown = |entry: &&Entry<'a>| {
            !shown.has(entry.value) && !shown.has_other_spelling(entry.value, entry.kind)
        };
        let Some(numbers) = self.spellings.get(&number) else {
            return self.entry(number).filter(is_unshown).copied();
        };
        let mut entries =
            numbers.iter().filter_map(|&number| self.entry(number)).filter(is_unshown);
        let mut newest = *entries.next()?;
        for entry in entries {
            let odds = newest.odds.max(entry.odds);
            if (entry.last, entry.value) > (newest.last, newest.value) {
                newest = *entry;
            }
            newest.odds = odds;
        }
        Some(newest)
    }

    /// Returns the odds of a piece of a value, if it would be listed on its own.
    pub(super) fn odds_of(&self, piece: &str, shown: &Shown<'_>) -> Option<f64> {
        let entry = self.unshown(self.index.number(piece)?, shown)?;
        (entry.value == piece).then_some(entry.odds)
    }

    /// Writes the ledger: the best values that fit into `budget` tokens and that are not shown.
    #[must_use]
    pub fn list(&self, counter: &Counter, budget: usize, shown: &Shown<'_>) -> Listing {
        Listing::of(&fill(self, counter, budget, shown))
    }

    /// Writes the ledger in two parts: the best values of it, and the others.
    #[must_use]
    pub fn list_parts(
        &self,
        counter: &Counter,
        sizes: PartSizes,
        shown: &Shown<'_>,
    ) -> (Listing, Listing) {
        let chosen = fill(self, counter, sizes.both, shown);
        let mut tokens = 0;
        let end = chosen.iter().position(|entry| {
            tokens += counter.text(entry.value) + 1;
            tokens > sizes.first
        });
        let (best, rest) = chosen.split_at(end.unwrap_or(chosen.len()));
        (Listing::of(best), Listing::of(rest))
    }
}

/// Returns the entries with their numbers.
fn numbered<'e, 'a>(
    entries: &'e [Option<Entry<'a>>],
) -> impl Iterator<Item = (u32, &'e Entry<'a>)> {
    (0..).zip(entries).filter_map(|(number, entry)| Some((number, entry.as_ref()?)))
}

/// Returns the gain per character of a value with these odds. `inside` are the odds of the values
/// that it also shows.
pub(super) fn worth(value: &str, odds: f64, inside: impl Iterator<Item = f64>) -> f64 {
    let gain: f64 = odds + inside.sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "a length is far below 2^52")]
    let length = (value.len() + 2) as f64;
    gain / length
}
