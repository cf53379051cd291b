//! The terms of a text: what the index stores and what a question is matched by.
//!
//! Words are lower-cased, stop words are dropped, English words are stemmed. A run of Chinese,
//! Japanese or Korean characters gives each pair of neighbors and each single character.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::script::is_cjk;
use crate::stem::stem;

/// English words that carry no meaning of their own.
const STOP_WORDS: &str = "a an the of to in on for and or is are was were be been i you he she it \
    we they my your his her our their me him them this that with at by from as do did does have \
    has had what when where which who how why not am being having doing would should could will \
    can may might must shall about into over after before again then than too very just so if but \
    because until while during out up down off there here both each more most other some such no \
    nor only own same s t don now ll re ve m d didn doesn isn aren wasn weren won couldn wouldn \
    shouldn hasn haven hadn its us these those one also get got like really oh yeah hey hi ok okay \
    any all tell know whom whose yours mine ours theirs himself herself themselves myself yourself \
    itself";

/// Characters that are not terms by themselves. Pairs with them are.
const STOP_CHARACTERS: &str = "的了在是我你他她它们和与也就都而及着或一个没有不这那吗呢吧啊什么哪\
    谁怎样为很到说要去会看好自己上下里后前时候";

/// A longer word is encoded data, which is not searched for.
const LONGEST_WORD: usize = 200;

static STOPS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());

/// Returns the terms of a text, in no particular order, with repetitions.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(text, |term, _| terms.push(term.to_owned()));
    terms
}

/// Calls a function with each term of a text and the word that it comes from.
pub(crate) fn each_term(text: &str, mut found: impl FnMut(&str, &str)) {
    let text = text.to_lowercase();
    for run in runs(&text) {
        if run.starts_with(is_cjk) {
            characters(run, &mut found);
        } else if is_term(run) {
            found(&stem(run), run);
        }
    }
}

/// Whether a term is a single character of a script without spaces. It is less specific than a
/// pair.
pub(crate) fn is_single_character(term: &str) -> bool {
    !term.is_ascii() && term.chars().nth(1).is_none()
}

/// Whether a character is not a term by itself.
pub(crate) fn is_stop_character(character: char) -> bool {
    STOP_CHARACTERS.contains(character)
}

fn is_term(word: &str) -> bool {
    let mut letters = word.chars();
    let is_single_letter =
        letters.next().is_some_and(|letter| !letter.is_numeric()) && letters.next().is_none();
    !is_single_letter && word.len() <= LONGEST_WORD && !STOPS.contains(word)
}

fn characters(run: &str, found: &mut impl FnMut(&str, &str)) {
    let ends = |at: usize| run.get(at..).and_then(|rest| rest.chars().next()).map(char::len_utf8);
    let mut is_pair = false;
    for (start, first) in run.char_indices() {
        let middle = start + first.len_utf8();
        let pair = ends(middle).and_then(|width| run.get(start..middle + width));
        if let Some(pair) = pair {
            is_pair = true;
            found(pair, pair);
        }
        // A run of one character is a term even if the character is a common one.
        let is_run = middle == run.len() && !is_pair;
        if let Some(single) = run.get(start..middle)
            && (is_run || !is_stop_character(first))
        {
            found(single, single);
        }
    }
}

/// Returns the runs of characters without spaces and the runs of other letters and digits.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Cjk,
        Other,
    }
    let kind = |character: char| {
        if is_cjk(character) {
            Some(Kind::Cjk)
        } else {
            character.is_alphanumeric().then_some(Kind::Other)
        }
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|character| kind(character).is_some())?;
        let run = rest.get(start..)?;
        let own = kind(run.chars().next()?);
        let end = run.find(|character| kind(character) != own).unwrap_or(run.len());
        let (run, after) = run.split_at_checked(end)?;
        rest = after;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(text: &str) -> Vec<String> {
        let mut terms = terms(text);
        terms.sort();
        terms
    }

    #[test]
    fn english_words_are_stemmed_without_stop_words() {
        let terms = terms("The runners’ 3 databases were running (v2)!");
        assert_eq!(terms, ["runner", "3", "databas", "run", "v2"]);
    }

    #[test]
    fn chinese_gives_pairs_and_single_characters() {
        let mut expected =
            ["我喜", "喜欢", "欢吃", "吃苹", "苹果", "喜", "欢", "吃", "苹", "果", "rust"];
        expected.sort_unstable();
        assert_eq!(sorted("我喜欢吃苹果 and Rust"), expected);
    }

    #[test]
    fn a_run_of_one_character_is_a_term() {
        assert_eq!(terms("a 我 b"), ["我"]);
        assert_eq!(terms("茶"), ["茶"]);
    }

    #[test]
    fn underscores_separate_words_and_single_letters_are_dropped() {
        assert_eq!(terms("parse_line x 7"), ["pars", "line", "7"]);
    }

    #[test]
    fn encoded_data_is_not_a_term() {
        assert_eq!(terms(&format!("key {}", "QUJD".repeat(100))), ["kei"]);
    }

    #[test]
    fn stems_are_those_of_porter() {
        let pairs = [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("sky", "sky"),
            ("relational", "relat"),
            ("electrical", "electr"),
            ("hopefulness", "hope"),
            ("adoption", "adopt"),
            ("controlling", "control"),
            ("generalizations", "gener"),
        ];
        for (word, stem) in pairs {
            assert_eq!(terms(word), [stem], "{word}");
        }
    }
}
