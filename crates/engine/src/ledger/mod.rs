//! The ledger: a list of values that later steps are likely to need (paths, ids, names, numbers).
//! It keeps them verbatim when the messages that contain them are folded. It is written without a
//! model, so its quality does not depend on a summarizer.

mod choice;
mod doublings;
mod index;
mod rank;
mod ranking;
mod spelling;
pub mod value;

pub use index::{Index, Seen, text_of};
pub use rank::{FEATURES, Features, Weights, features};
pub use ranking::Ranking;
pub use value::Kind;

use rustc_hash::FxHashSet;

use ranking::Entry;
use spelling::Spellings;

use crate::tokens::Counter;

const NAMES: &str = "names";
const IDS: &str = "ids";
const NUMBERS: &str = "numbers";

/// The groups whose values are listed with the file that many of them come from.
const WITH_FILE: [&str; 3] = [NAMES, IDS, NUMBERS];

/// The groups in their order, each with its heading and kinds.
const GROUPS: [(&str, &[Kind]); 6] = [
    ("paths", &[Kind::AbsolutePath, Kind::RelativePath]),
    ("files", &[Kind::File]),
    (NAMES, &[Kind::Symbol, Kind::Dotted, Kind::Cjk]),
    (IDS, &[Kind::Hash, Kind::Id]),
    (NUMBERS, &[Kind::Number]),
    ("links", &[Kind::Link]),
];

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

/// The tokens of a ledger in two parts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PartSizes {
    /// Both parts together, at most.
    pub both: usize,
    /// The first part, about.
    pub first: usize,
}

/// Returns the best entries that fit. Values take fewer tokens together than one by one, so the
/// choice is repeated with a larger limit to use the whole budget.
fn fill<'a>(
    ranking: &Ranking<'a>,
    counter: &Counter,
    budget: usize,
    shown: &Shown<'_>,
) -> Vec<Entry<'a>> {
    let mut limit = budget;
    let mut best = (0, Vec::new());
    for _ in 0..ROUNDS {
        let chosen = choice::choose(ranking, shown, counter, limit);
        let text = print(&chosen);
        let tokens = counter.text(&text);
        if tokens > budget {
            limit = limit * budget / tokens;
            continue;
        }
        let is_full = tokens * 50 >= budget * 49 || text.len() == best.0;
        if text.len() > best.0 {
            best = (text.len(), chosen);
        }
        if is_full || tokens == 0 {
            break;
        }
        limit = limit * budget / tokens;
    }
    best.1
}

/// Maximum number of rounds of choosing.
const ROUNDS: usize = 4;

/// The words that the context already contains, and their pieces.
#[derive(Debug, Default)]
pub struct Shown<'a> {
    words: FxHashSet<&'a str>,
    spellings: Spellings<'a>,
    /// Other words that it contains.
    others: Option<&'a Self>,
}

impl<'a> Shown<'a> {
    /// Creates a set with the words of `others`.
    #[must_use]
    pub fn with(others: &'a Self) -> Self {
        Self { others: Some(others), ..Self::default() }
    }

    /// Adds the words of a text.
    pub fn add(&mut self, text: &'a str) {
        for word in value::words(text) {
            if self.words.insert(word) {
                self.add_pieces(word);
                self.spellings.add(word);
            }
        }
        self.words.extend(value::words_listed_otherwise(text));
    }

    /// Adds the pieces of a word: its names, and for a path its ends and its directories.
    fn add_pieces(&mut self, word: &'a str) {
        self.words.extend(value::pieces(word));
    }

    /// Returns whether a value is shown.
    #[must_use]
    pub fn has(&self, value: &str) -> bool {
        self.words.contains(value) || self.others.is_some_and(|others| others.has(value))
    }

    /// Returns whether a value is shown in another spelling. Paths are looked up as they are.
    fn has_other_spelling(&self, value: &str, kind: Kind) -> bool {
        if !matches!(kind, Kind::Hash | Kind::Id | Kind::Link | Kind::Number) {
            return false;
        }
        let common = spelling::common_form(value, kind);
        let form = common.as_deref().unwrap_or(value);
        form != value && self.words.contains(form)
            || self.spellings.has(form, kind)
            || self.others.is_some_and(|others| others.has_other_spelling(value, kind))
    }
}

/// A file with at least this many names gets a line of its own.
const MIN_NAMES: usize = 2;

/// Returns the kind that a value is listed under. `item.id` looks like a file name, but is a field.
fn listed_as(entry: &Entry<'_>) -> Kind {
    match entry.kind {
        Kind::File if !value::has_file_extension(entry.value) => Kind::Dotted,
        kind => kind,
    }
}

/// Returns whether a base name that a call mentioned is that of a file. It may also name a
/// directory or a program, which would tell a reader nothing.
fn is_file(name: &str) -> bool {
    value::has_file_extension(name) || name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Prints entries grouped by kind. Values of which many come from one file are listed with the
/// file, so that a reader knows where to look.
fn print(entries: &[Entry<'_>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (heading, kinds) in GROUPS {
        let of_kind: Vec<&Entry<'_>> =
            entries.iter().filter(|entry| kinds.contains(&listed_as(entry))).collect();
        let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut rest: Vec<&str> = Vec::new();
        if WITH_FILE.contains(&heading) {
            for entry in &of_kind {
                let Some(source) = entry.source.filter(|source| is_file(source)) else { continue };
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
        let prefix = if heading == NAMES { String::new() } else { format!("{heading} ") };
        let line =
            |(file, values): &(&str, Vec<&str>)| format!("{prefix}in {file}: {}", values.join(" "));
        lines.extend(files.iter().map(line));
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

    fn write(index: &Index, budget: usize, shown: &Shown<'_>) -> Listing {
        Ranking::new(index, Weights::shipped(), |_, _| true).list(
            &Counter::default(),
            budget,
            shown,
        )
    }

    #[test]
    fn values_are_grouped_and_pieces_of_a_listed_path_are_not_repeated() {
        let index = index_of(&["see /srv/app/main.py and main.py in order 100452, call load_all"]);
        let text = write(&index, 200, &Shown::default()).text;
        assert_eq!(text, "paths: /srv/app/main.py\nnames: load_all\nnumbers: 100452");
    }

    /// Paths are listed as a program can use them, and what is printed next to values is not: line
    /// numbers, colors, prefixes of diffs, escapes of JSON.
    #[test]
    fn values_are_listed_as_they_can_be_used() {
        let index = index_of(&[
            "uses ./.github/actions/setup in .github/workflows/ci.yml, ../lib/gamma.py, ./src/beta.rs",
            "diff --git a/src/old_name.rs b/src/old_name.rs\n--- a/src/alpha.rs\n+++ b/src/alpha.rs",
            "  1204→fn load_all()\n  1205\tfn save_all()\n1206│fn drop_all()\n",
            "\u{1b}[32mFinishedNow\u{1b}[0m \u{1b}[31m2024.5\u{1b}[39m",
            r#"{"text":"a\nNextValue"} at 2026-06-27T10:44:24Z, port 8443→9443"#,
        ]);
        let text = write(&index, 400, &Shown::default()).text;
        let mut listed: Vec<&str> = text.lines().flat_map(|line| line.split(' ').skip(1)).collect();
        listed.sort_unstable();
        assert_eq!(
            listed,
            [
                "../lib/gamma.py",
                ".github/actions/setup",
                ".github/workflows/ci.yml",
                "2024.5",
                "8443",
                "9443",
                "FinishedNow",
                "NextValue",
                "drop_all",
                "load_all",
                "save_all",
                "src/alpha.rs",
                "src/beta.rs",
                "src/old_name.rs",
            ]
        );
        let mut shown = Shown::default();
        shown.add("see .github/workflows/ci.yml and ../lib/gamma.py");
        let text = write(&index, 400, &shown).text;
        assert!(!text.contains("ci.yml") && !text.contains("gamma"), "{text}");
    }

    /// Two spellings of one value are listed once, as the newest one, and a short hash as the long
    /// one. In the names of code the case matters.
    #[test]
    fn the_same_value_is_listed_once() {
        let index = index_of(&[
            "id ORD-4711, mail to Ann.Lee@Example.org, commit 9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
            "id ord-4711, mail to ann.lee@example.org, commit 9f8e7d6, total 12345.67",
            "total 12,345.67, new Vec2 and vec2 for ann.lee@EXAMPLE.org",
        ]);
        let text = write(&index, 400, &Shown::default()).text;
        let listed: Vec<&str> = text.split_whitespace().collect();
        let has = |value: &str| listed.contains(&value);
        for once in ["ord-4711", "ann.lee@EXAMPLE.org", "12,345.67", "Vec2", "vec2"] {
            assert!(has(once), "{once} in {text}");
        }
        assert!(has("9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"), "{text}");
        for again in [
            "ORD-4711",
            "Ann.Lee@Example.org",
            "ann.lee@example.org",
            "9f8e7d6",
            "345.67",
            "12345.67",
        ] {
            assert!(!has(again), "{again} in {text}");
        }
    }

    /// A value that the context shows in another spelling is not listed.
    #[test]
    fn other_spellings_that_are_shown_are_not_listed() {
        let index = index_of(&["id ORD-4711, Ann@Example.org, 12,345.67, commit 9f8e7d6c5b4a"]);
        let mut shown = Shown::default();
        shown.add(
            "ord-4711 for ann@example.org: 12345.67, 9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
        );
        assert_eq!(write(&index, 400, &shown).text, "");
        let outer = Shown::with(&shown);
        assert_eq!(write(&index, 400, &outer).text, "");
    }

    #[test]
    fn fields_are_not_listed_as_files() {
        let index = index_of(&["set item.id and badge.label in setup.cfg, main.rs and go.mod"]);
        let text = write(&index, 200, &Shown::default()).text;
        let of = |heading: &str| text.lines().find_map(|line| line.strip_prefix(heading));
        assert!(
            ["setup.cfg", "main.rs", "go.mod"].iter().all(|f| of("files:").unwrap().contains(f))
        );
        assert!(["item.id", "badge.label"].iter().all(|f| of("names:").unwrap().contains(f)));
    }

    #[test]
    fn the_ledger_fits_its_budget_and_skips_values_that_are_shown() {
        let words: Vec<String> = (0..500).map(|n| format!("name_{n}")).collect();
        let index = index_of(&[&words.join(" ")]);
        let counter = Counter::default();
        let mut shown = Shown::default();
        shown.add("name_7 is shown");
        let text = write(&index, 300, &shown).text;
        assert!(counter.text(&text) <= 300, "{}", counter.text(&text));
        assert!(text.split(' ').count() > 40);
        assert!(!text.split(' ').any(|word| word == "name_7"));
    }

    #[test]
    fn the_same_history_gives_the_same_ledger() {
        let words: Vec<String> = (0..300).map(|n| format!("item_{n}")).collect();
        let write = || write(&index_of(&[&words.join(" ")]), 150, &Shown::default());
        assert_eq!(write(), write());
    }
}
