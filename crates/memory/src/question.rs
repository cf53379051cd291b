//! What is searched for: the terms of a question, and the dates it names.

use rustc_hash::FxHashSet;

use crate::answer_kind::AnswerKind;
use crate::date::{Named, named_dates};
use crate::index::Index;
use crate::terms::each_term;

/// A question in the words of one index.
#[derive(Debug)]
pub(crate) struct Question {
    /// Its terms that the index has.
    pub terms: Vec<Term>,
    /// All its terms.
    all: FxHashSet<String>,
    pub dates: Vec<Named>,
    pub kind: AnswerKind,
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
        Self { terms, all, dates: named_dates(text), kind }
    }

    pub(crate) fn has(&self, term: &str) -> bool {
        self.all.contains(term)
    }
}
