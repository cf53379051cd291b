//! What a search returns: messages, and why each was found.

/// A message that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The number that `Index::add` returned.
    pub message: usize,
    /// Its score. Scores of different questions cannot be compared.
    pub score: f64,
    /// Why it was found, the most important reason first. Empty if the message does not match: a
    /// search returns as many messages as it is asked for.
    pub reasons: Vec<Reason>,
}

/// Why a message was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It has these words of the question.
    Words(Vec<String>),
    /// This message next to it has words of the question.
    Neighbor(usize),
    /// Its session has other messages that fit.
    Session,
    /// The question names its author.
    Speaker,
    /// The question names its date.
    Date,
    /// It has a standing instruction.
    Instruction,
    /// It states a preference of the user.
    Preference,
    /// Its meaning is similar to the question.
    Meaning,
}

/// How many words of a question a message must have to be quoted.
const TELLING_WORDS: usize = 2;

impl Hit {
    /// Returns the words of the question that the message has.
    #[must_use]
    pub fn words(&self) -> &[String] {
        words(&self.reasons)
    }
}

impl Reason {
    /// Returns whether the reasons for a message are good enough to quote it to a model that did
    /// not ask for it. One word is found almost anywhere.
    #[must_use]
    pub fn are_telling(reasons: &[Self]) -> bool {
        words(reasons).len() >= TELLING_WORDS
    }
}

fn words(reasons: &[Reason]) -> &[String] {
    let words = reasons.iter().find_map(|reason| match reason {
        Reason::Words(words) => Some(words.as_slice()),
        _ => None,
    });
    words.unwrap_or_default()
}
