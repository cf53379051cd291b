//! The ledger: values that later steps are likely to need (paths, ids, names, numbers), kept verbatim when the
//! messages that showed them are folded. Made without a model, so that quality does not hang on a summariser.

mod index;
mod rank;
pub mod value;

pub use index::{Index, Seen};
pub use rank::{KindWeights, Weights};
pub use value::Kind;

use rustc_hash::FxHashSet;

use crate::tokens::Counter;

/// The headings, in the order a reader meets them.
const GROUPS: [(&str, &[Kind]); 6] = [
    ("paths", &[Kind::AbsolutePath, Kind::RelativePath]),
    ("files", &[Kind::File]),
    ("names", &[Kind::Symbol, Kind::Dotted, Kind::Cjk]),
    ("ids", &[Kind::Hash, Kind::Id]),
    ("numbers", &[Kind::Number]),
    ("links", &[Kind::Link]),
];

/// A value chosen for the ledger.
#[derive(Clone, Debug, PartialEq)]
struct Entry<'a> {
    value: &'a str,
    kind: Kind,
    score: f64,
}

/// Writes the ledger: of the values that `wanted` accepts and `shown` does not hold already, the best that
/// fit into `budget` tokens. Empty when there is none.
#[must_use]
pub fn write(
    index: &Index,
    counter: &Counter,
    budget: usize,
    shown: &str,
    wanted: impl Fn(&str, &Seen) -> bool,
) -> String {
    let visible = index::set_of(shown);
    let weights = Weights::shipped();
    let mut entries: Vec<Entry<'_>> = index
        .iter()
        .filter(|(value, seen)| !visible.contains(value) && wanted(value, seen))
        .map(|(value, seen)| Entry { value, kind: seen.kind, score: weights.score(index, value, seen) })
        .collect();
    // Equal scores are common; the text decides, so that the same history gives the same ledger.
    entries.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.value.cmp(b.value)));
    print(&choose(&entries, counter, budget))
}

/// The best entries within the budget, without those that stand inside another one.
fn choose<'a>(entries: &[Entry<'a>], counter: &Counter, budget: usize) -> Vec<Entry<'a>> {
    let mut left = budget.saturating_sub(GROUPS.len() * 4);
    let mut chosen: Vec<Entry<'a>> = Vec::new();
    let mut inside: FxHashSet<&str> = FxHashSet::default();
    let mut misses = 0;
    for entry in entries {
        if inside.contains(entry.value) {
            continue;
        }
        let cost = counter.text(entry.value) + 1;
        if cost > left {
            misses += 1;
            if misses > 32 {
                break;
            }
            continue;
        }
        left -= cost;
        inside.extend(pieces(entry.value));
        chosen.push(entry.clone());
    }
    chosen.retain(|entry| !inside.contains(entry.value));
    chosen
}

/// What a reader finds inside a path: its endings and its folders.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    let slashes = value.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0);
    slashes.flat_map(move |at| [value.get(at + 1..), value.get(..at)]).flatten()
}

fn print(entries: &[Entry<'_>]) -> String {
    let mut text = String::new();
    for (heading, kinds) in GROUPS {
        let values: Vec<&str> =
            entries.iter().filter(|entry| kinds.contains(&entry.kind)).map(|entry| entry.value).collect();
        if !values.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(heading);
            text.push_str(": ");
            text.push_str(&values.join(" "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, Role};

    fn index_of(texts: &[&str]) -> Index {
        let mut index = Index::default();
        for (at, text) in texts.iter().enumerate() {
            index.append(at, &Message::text_of(Role::User, *text));
        }
        index
    }

    #[test]
    fn values_are_grouped_and_pieces_of_a_listed_path_are_not_repeated() {
        let index = index_of(&["see /srv/app/main.py and main.py in order 100452, call load_all"]);
        let text = write(&index, &Counter::default(), 200, "", |_, _| true);
        assert_eq!(text, "paths: /srv/app/main.py\nnames: load_all\nnumbers: 100452");
    }

    #[test]
    fn it_stays_inside_its_budget_and_skips_what_is_shown() {
        let words: Vec<String> = (0..500).map(|n| format!("name_{n}")).collect();
        let index = index_of(&[&words.join(" ")]);
        let counter = Counter::default();
        let text = write(&index, &counter, 300, "name_7 stands here", |_, _| true);
        assert!(counter.text(&text) <= 300, "{}", counter.text(&text));
        assert!(text.split(' ').count() > 40);
        assert!(!text.split(' ').any(|word| word == "name_7"));
    }

    #[test]
    fn the_same_history_gives_the_same_ledger() {
        let words: Vec<String> = (0..300).map(|n| format!("item_{n}")).collect();
        let write = || write(&index_of(&[&words.join(" ")]), &Counter::default(), 150, "", |_, _| true);
        assert_eq!(write(), write());
    }
}
