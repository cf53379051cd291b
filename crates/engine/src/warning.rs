//! Warnings about irregular content. Irregular content is not an error: it is repaired, and a
//! warning says how.

use std::fmt;

use crate::phrase::Phrase;

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WarningKind {
    /// A call without a result.
    UnansweredCall,
    /// A result without a call.
    OrphanResult,
    /// A second result for the same call.
    SecondResult,
    /// A result before its call.
    EarlyResult,
    /// A result that does not directly follow its step.
    LateResult,
    /// The same call id twice.
    RepeatedId,
    /// A call or result without an id.
    MissingId,
    /// Call arguments that are not a JSON object.
    BadArguments,
    /// A part that the role cannot have: a call from the user, a result from the assistant.
    MisplacedPart,
    /// A field with the wrong type for its wire.
    WrongType,
    /// A message without a role.
    MissingRole,
    /// Content that is null although the wire requires a value.
    NullContent,
    /// A text that is empty or only white space.
    BlankText,
    /// A message without content, which is not sent.
    EmptyMessage,
    /// Half of a UTF-16 surrogate pair.
    LoneSurrogate,
    /// Two user messages in a row.
    RepeatedUser,
    /// A system message in the middle of the conversation.
    MidSystem,
    /// Thinking without an answer.
    DanglingThought,
    /// The context does not fit into the window, or only after truncating protected messages.
    Budget,
    /// A model that is not in the catalog.
    UnknownModel,
    /// A policy setting that has no effect or contradicts another one.
    Setting,
    /// The planner broke one of its own rules: a bug, reported instead of hidden.
    Internal,
}

/// A problem that was repaired or could not be avoided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The index of the message in the history, if the warning is about one message.
    pub at: Option<usize>,
    /// What the warning is about.
    pub kind: WarningKind,
    /// What was found and what was done, for people.
    pub text: Phrase,
}

impl Warning {
    /// Creates a warning about one message.
    pub fn at(at: usize, kind: WarningKind, text: impl Into<Phrase>) -> Self {
        Self { at: Some(at), kind, text: text.into() }
    }

    /// Creates a warning that is not about a single message.
    pub fn new(kind: WarningKind, text: impl Into<Phrase>) -> Self {
        Self { at: None, kind, text: text.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            // People count messages from 1.
            Some(at) => write!(f, "message {}: {}", at + 1, self.text),
            None => self.text.fmt(f),
        }
    }
}
