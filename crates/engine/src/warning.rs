//! Bad content is data, not failure: what was odd and what was done about it.

use std::fmt;

/// What kind of oddity a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Oddity {
    /// A call that no result answers.
    UnansweredCall,
    /// A result whose call nobody made.
    OrphanResult,
    /// A second result for the same call.
    SecondResult,
    /// A result that stands before its call.
    EarlyResult,
    /// A result that comes after something else was said.
    LateResult,
    /// The same call id twice.
    RepeatedId,
    /// A call or result without an id.
    MissingId,
    /// Call arguments that are no JSON object.
    BadArguments,
    /// A part that its speaker cannot say: a user's call, an assistant's result.
    MisplacedPart,
    /// A field of another type than its wire gives it.
    WrongType,
    /// A message that does not say who speaks.
    MissingRole,
    /// Content that is null where the wire wants some.
    NullContent,
    /// A text of nothing but white space.
    BlankText,
    /// A message with nothing in it.
    EmptyMessage,
    /// Half of a UTF-16 pair.
    LoneSurrogate,
    /// Two user messages in a row.
    RepeatedUser,
    /// A system message in the middle.
    MidSystem,
    /// Thinking that no answer follows.
    DanglingThought,
    /// The context does not fit, or only just.
    Budget,
    /// A model that the table does not have.
    UnknownModel,
    /// A policy setting that cannot do what it says.
    Setting,
    /// The planner broke one of its own rules: a bug, reported instead of hidden.
    Internal,
}

/// Something odd that was repaired in the view or could not be helped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The message it is about, by its index in the history.
    pub at: Option<usize>,
    /// What kind it is.
    pub oddity: Oddity,
    /// What was found and done, for a person.
    pub text: String,
}

impl Warning {
    /// A warning about one message.
    pub fn at(at: usize, oddity: Oddity, text: impl Into<String>) -> Self {
        Self { at: Some(at), oddity, text: text.into() }
    }

    /// A warning about the whole.
    pub fn new(oddity: Oddity, text: impl Into<String>) -> Self {
        Self { at: None, oddity, text: text.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "message {at}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
