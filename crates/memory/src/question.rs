//! What is searched for: the terms of a question with their weights, and the dates it names.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashSet;

use crate::answer_kind::AnswerKind;
use crate::common::is_common;
use crate::date::{Named, named_dates};
use crate::index::Index;
use crate::pattern::pattern;
use crate::terms::{each_term, is_single_character, terms as terms_of};
use crate::weights::Weights;

/// The weight of a single Chinese character, compared with a pair.
const SINGLE_CHARACTER: f64 = 0.4;
/// The weight of a common word in a question with many words, and how many they are. In a short
/// question every word matters.
const COMMON: f64 = 0.4;
const MANY_TERMS: f64 = 12.0;
/// The weight of words in the first and the last line of several. What is between them is often a
/// quotation or an earlier part of the conversation.
const OUTER_LINE: f64 = 2.0;

/// A question in the words of one index.
#[derive(Debug)]
pub(crate) struct Question {
    /// Its terms that the index has.
    pub terms: Vec<Term>,
    /// All its terms.
    all: FxHashSet<String>,
    pub dates: Vec<Named>,
    pub kind: AnswerKind,
    /// Whether it asks what the user was doing or was about to do.
    is_about_past: bool,
}

/// A term of a question.
#[derive(Debug)]
pub(crate) struct Term {
    /// Its number in the index.
    pub number: u32,
    /// The word as the index has it.
    pub text: String,
    /// The word of the question, in lower case.
    pub word: String,
    /// How much it counts.
    pub weight: f64,
}

impl Question {
    pub(crate) fn new(index: &Index, text: &str) -> Self {
        // A conversation between people has no answers of a program, and its messages are found
        // better with all words of the question.
        let kind =
            if index.has_program { AnswerKind::of(&text.to_lowercase()) } else { AnswerKind::Fact };
        let mut all = FxHashSet::default();
        let mut terms = Vec::new();
        each_term(text, |term, word| {
            if !kind.searches(term) || !all.insert(term.to_owned()) {
                return;
            }
            if let Some(&number) = index.vocabulary.get(term) {
                let (text, word) = (term.to_owned(), word.to_owned());
                terms.push(Term { number, text, word, weight: 1.0 });
            }
        });
        weigh(&mut terms, &all, &outer_lines(text));
        static PAST: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:was|were|had) i\b"));
        let is_about_past = PAST.is_match(&text.to_lowercase());
        Self { terms, all, dates: named_dates(text), kind, is_about_past }
    }

    /// Returns the weights for this question. What the user did is not what they like.
    pub(crate) const fn weights(&self, weights: &Weights) -> Weights {
        let weights = self.kind.weights(weights);
        match self.is_about_past {
            true => Weights { preference: 0.0, ..weights },
            false => weights,
        }
    }

    pub(crate) fn has(&self, term: &str) -> bool {
        self.all.contains(term)
    }
}

/// Sets the weights of terms. `all` are the terms of the question, `outer` those of its outer
/// lines.
#[expect(clippy::cast_precision_loss, reason = "questions are short")]
fn weigh(terms: &mut [Term], all: &FxHashSet<String>, outer: &FxHashSet<String>) {
    let count = all.iter().filter(|term| !is_single_character(term)).count() as f64;
    let common = 1.0 - (1.0 - COMMON) * (count / MANY_TERMS).min(1.0);
    for term in terms {
        if is_single_character(&term.text) {
            term.weight *= SINGLE_CHARACTER;
        }
        if is_common(&term.text) {
            term.weight *= common;
        }
        if outer.contains(&term.text) {
            term.weight *= OUTER_LINE;
        }
    }
}

/// Returns the terms of the first and the last line of a text with several lines.
fn outer_lines(text: &str) -> FxHashSet<String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => terms_of(first).into_iter().chain(terms_of(last)).collect(),
        _ => FxHashSet::default(),
    }
}
