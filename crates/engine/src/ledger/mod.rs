//! The ledger: a list of values that later steps are likely to need (paths, ids, names, numbers).
//! It keeps them verbatim when the messages that contain them are folded. It is written without a
//! model, so its quality does not depend on a summarizer.

mod choice;
mod doublings;
mod index;
mod rank;
pub mod value;

pub use index::{Index, Seen, text_of};
pub use rank::{FEATURES, Features, Weights, features};
pub use value::Kind;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::tokens::Counter;

/// The groups in their order, each with its heading and kinds.
const NAMES: &str = "names";

const GROUPS: [(&str, &[Kind]); 6] = [
    ("paths", &[Kind::AbsolutePath, Kind::RelativePath]),
    ("files", &[Kind::File]),
    (NAMES, &[Kind::Symbol, Kind::Dotted, Kind::Cjk]),
    ("ids", &[Kind::Hash, Kind::Id]),
    ("numbers", &[Kind::Number]),
    ("links", &[Kind::Link]),
];

/// A value that the ledger could list.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry<'a> {
    value: &'a str,
    kind: Kind,
    /// How likely it is to be needed.
    odds: f64,
    /// The file that the newest result with it is about.
    source: Option<&'a str>,
}

/// A list of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The list as text, grouped by kind.
    pub text: String,
    /// The values in the order of their rank, best first.
    pub values: Vec<String>,
}

impl Listing {
    fn of(entries: &[Entry<'_>]) -> Self {
        let values = entries.iter().map(|entry| entry.value.to_owned()).collect();
        Self { text: print(entries), values }
    }
}

/// Writes the ledger: the best values that fit into `budget` tokens, of those that `wanted` accepts
/// and `shown` does not contain.
#[must_use]
pub fn write(
    index: &Index,
    weights: &Weights,
    counter: &Counter,
    budget: usize,
    shown: &Shown<'_>,
    wanted: impl Fn(&str, &Seen) -> bool,
) -> Listing {
    let (_, chosen) = fill(&candidates(index, weights, shown, wanted), counter, budget);
    Listing::of(&chosen)
}

/// The tokens of a ledger in two parts.
#[derive(Clone, Copy, Debug)]
pub struct PartSizes {
    /// Both parts together, at most.
    pub both: usize,
    /// The first part, about.
    pub first: usize,
}

/// Writes the ledger in two parts: the best values of it, and the others.
#[must_use]
pub fn write_parts(
    index: &Index,
    weights: &Weights,
    counter: &Counter,
    sizes: PartSizes,
    shown: &Shown<'_>,
    wanted: impl Fn(&str, &Seen) -> bool,
) -> (Listing, Listing) {
    let (_, chosen) = fill(&candidates(index, weights, shown, wanted), counter, sizes.both);
    let mut tokens = 0;
    let end = chosen.iter().position(|entry| {
        tokens += counter.text(entry.value) + 1;
        tokens > sizes.first
    });
    let (best, rest) = chosen.split_at(end.unwrap_or(chosen.len()));
    (Listing::of(best), Listing::of(rest))
}

/// Returns the values that could be listed. Of several spellings of one path, it is the newest,
/// with the best odds.
fn candidates<'a>(
    index: &'a Index,
    weights: &Weights,
    shown: &Shown<'_>,
    wanted: impl Fn(&str, &Seen) -> bool,
) -> Vec<Entry<'a>> {
    let sources = index.sources();
    let mut spellings: FxHashMap<&str, (usize, Entry<'_>)> = FxHashMap::default();
    for (value, seen) in
        index.iter().filter(|(value, seen)| wanted(value, seen) && !shown.has(value))
    {
        let source = sources.get(&seen.source()).copied();
        let odds = weights.odds(index, value, seen);
        let entry = Entry { value, kind: seen.kind, odds, source };
        let (last, known) = spellings.entry(value::plain(value)).or_insert((seen.last, entry));
        let best = known.odds.max(odds);
        if (seen.last, value) > (*last, known.value) {
            *last = seen.last;
            *known = entry;
        }
        known.odds = best;
    }
    spellings.into_values().map(|(_, entry)| entry).collect()
}

/// Returns the best entries that fit, and their text. Values take fewer tokens together than one by
/// one, so the choice is repeated with a larger limit to use the whole budget.
fn fill<'a>(entries: &[Entry<'a>], counter: &Counter, budget: usize) -> (String, Vec<Entry<'a>>) {
    let mut limit = budget;
    let mut best = (String::new(), Vec::new());
    for _ in 0..ROUNDS {
        let chosen = choice::choose(entries, counter, limit);
        let text = print(&chosen);
        let tokens = counter.text(&text);
        if tokens > budget {
            limit = limit * budget / tokens;
            continue;
        }
        let is_full = tokens * 50 >= budget * 49 || text.len() == best.0.len();
        if text.len() > best.0.len() {
            best = (text, chosen);
        }
        if is_full || tokens == 0 {
            break;
        }
        limit = limit * budget / tokens;
    }
    best
}

/// The most rounds of choosing.
const ROUNDS: usize = 4;

/// The words that the context already contains, and their pieces.
#[derive(Debug, Default)]
pub struct Shown<'a>(FxHashSet<&'a str>);

impl<'a> Shown<'a> {
    /// Adds the words of a text.
    pub fn add(&mut self, text: &'a str) {
        for word in value::words(text) {
            if self.0.insert(word) {
                self.add_pieces(word);
            }
        }
    }

    /// Adds the pieces of a word: its names, and for a path its ends and its directories.
    fn add_pieces(&mut self, word: &'a str) {
        self.0.extend(value::pieces(word));
    }

    /// Returns whether a value is shown.
    #[must_use]
    pub fn has(&self, value: &str) -> bool {
        self.0.contains(value)
    }
}

/// A file with at least this many names gets a line of its own.
const MIN_NAMES: usize = 4;

/// Prints entries grouped by kind. Names of which many come from one file are listed with the file,
/// so that a reader knows where to look.
fn print(entries: &[Entry<'_>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (heading, kinds) in GROUPS {
        let of_kind: Vec<&Entry<'_>> =
            entries.iter().filter(|entry| kinds.contains(&entry.kind)).collect();
        let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut rest: Vec<&str> = Vec::new();
        if heading == NAMES {
            for entry in &of_kind {
                let Some(source) = entry.source else { continue };
                match files.iter_mut().find(|(file, _)| *file == source) {
                    Some((_, values)) => values.push(entry.value),
                    None => files.push((source, vec![entry.value])),
                }
            }
            files.retain(|(_, values)| values.len() >= MIN_NAMES);
        }
        let is_listed = |entry: &Entry<'_>| {
            entry.source.is_some_and(|source| files.iter().any(|(file, _)| *file == source))
        };
        rest.extend(of_kind.iter().filter(|entry| !is_listed(entry)).map(|entry| entry.value));
        lines.extend(files.iter().map(|(file, values)| format!("in {file}: {}", values.join(" "))));
        if !rest.is_empty() {
            lines.push(format!("{heading}: {}", rest.join(" ")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    fn index_of(texts: &[&str]) -> Index {
        let mut index = Index::default();
        for (at, text) in texts.iter().enumerate() {
            index.append(at, &Message::user(*text));
        }
        index
    }

    #[test]
    fn values_are_grouped_and_pieces_of_a_listed_path_are_not_repeated() {
        let index = index_of(&["see /srv/app/main.py and main.py in order 100452, call load_all"]);
        let text = write(
            &index,
            Weights::shipped(),
            &Counter::default(),
            200,
            &Shown::default(),
            |_, _| true,
        )
        .text;
        assert_eq!(text, "paths: /srv/app/main.py\nnames: load_all\nnumbers: 100452");
    }

    #[test]
    fn the_ledger_fits_its_budget_and_skips_values_that_are_shown() {
        let words: Vec<String> = (0..500).map(|n| format!("name_{n}")).collect();
        let index = index_of(&[&words.join(" ")]);
        let counter = Counter::default();
        let mut shown = Shown::default();
        shown.add("name_7 is shown");
        let text = write(&index, Weights::shipped(), &counter, 300, &shown, |_, _| true).text;
        assert!(counter.text(&text) <= 300, "{}", counter.text(&text));
        assert!(text.split(' ').count() > 40);
        assert!(!text.split(' ').any(|word| word == "name_7"));
    }

    #[test]
    fn the_same_history_gives_the_same_ledger() {
        let words: Vec<String> = (0..300).map(|n| format!("item_{n}")).collect();
        let write = || {
            write(
                &index_of(&[&words.join(" ")]),
                Weights::shipped(),
                &Counter::default(),
                150,
                &Shown::default(),
                |_, _| true,
            )
        };
        assert_eq!(write(), write());
    }
}
