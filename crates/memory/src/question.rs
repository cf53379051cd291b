//! What is searched for: the terms of a question, and the dates it names.

use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHashSet;

use crate::answer_kind::AnswerKind;
use crate::date::{Named, named_dates};
use crate::index::Index;
use crate::pattern::pattern;
use crate::terms::each_term;
use crate::weights::Weights;

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
    /// The term itself.
    pub text: String,
    /// The word of the question, in lower case.
    pub word: String,
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
                terms.push(Term { number, text: term.to_owned(), word: word.to_owned() });
            }
        });
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
