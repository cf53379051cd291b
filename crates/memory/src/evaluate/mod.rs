//! Measuring search on question sets: conversations with questions whose answers are known
//! messages. The caller reads the files; each line is a [`Conversation`] as JSON.

mod measure;
mod run;
mod vectors;

pub use measure::Figures;
pub use run::{Outcome, Scope, evaluate};
use serde::Deserialize;
pub use vectors::{Vectors, encode};

/// A conversation with questions about it.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Conversation {
    /// The messages, in order.
    pub turns: Vec<Turn>,
    /// What is asked about it.
    pub queries: Vec<Query>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Turn {
    /// What evidence refers to.
    pub id: Key,
    /// Its session, or the user it belongs to if questions name one.
    pub session: Key,
    /// When it was written, in any common form.
    #[serde(default)]
    pub time: Option<String>,
    /// The speaker, if the file names them.
    #[serde(default)]
    pub speaker: Option<String>,
    /// The text.
    pub text: String,
}

impl Turn {
    /// Returns the author's name, empty if there is none.
    #[must_use]
    pub fn speaker(&self) -> &str {
        self.speaker.as_deref().unwrap_or_default()
    }
}

/// One question.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Query {
    /// What is asked.
    pub question: String,
    /// The category of the question set, which figures are grouped by.
    #[serde(default)]
    pub category: Option<Key>,
    /// The ids of the messages that answer it. Questions without any are not measured.
    pub evidence: Vec<Key>,
    /// The user who asks it.
    #[serde(default)]
    pub user: Option<Key>,
}

/// An id: a string or a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Key {
    /// An id that the file writes without quotes.
    Number(i64),
    /// A string.
    Text(String),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Whether every question of a set names the user who asks it.
#[must_use]
pub fn has_users(set: &[Conversation]) -> bool {
    let mut queries = set.iter().flat_map(|conversation| &conversation.queries).peekable();
    queries.peek().is_some() && queries.all(|query| query.user.is_some())
}
