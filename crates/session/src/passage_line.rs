//! [`PassageLine`]: a message that a search found, as a JSON line for programs.

use serde::Serialize;

use crate::recall::Passage;

/// A message that a search found, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PassageLine<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The number of the message, as people see it.
    pub message: u64,
    /// Its author.
    pub role: &'static str,
    /// Its time, in milliseconds since 1970.
    pub time: i64,
    /// The part of its text that answers the question best.
    pub text: &'a str,
    /// The id of the artifact that has the text.
    pub artifact: Option<&'a str>,
    /// Why it was found, in words.
    pub why: Vec<String>,
}

impl<'a> PassageLine<'a> {
    /// Creates the line of a message of a session. `why` has the passage's reasons in words.
    #[must_use]
    pub fn new(session: &'a str, message: u64, found: &'a Passage, why: Vec<String>) -> Self {
        Self {
            session,
            message,
            role: found.role.name(),
            time: found.time,
            text: &found.text,
            artifact: found.artifact.as_deref(),
            why,
        }
    }
}
