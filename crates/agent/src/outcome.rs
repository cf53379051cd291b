//! How a turn ended.

use serde_json::Value;
use waterline_provider::answer::Usage;

use crate::state::Waiting;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an answer.
    Done,
    /// At a limit; what was said last reports how far it came.
    Limit(String),
    /// Something stopped it.
    Halted(String),
    /// It goes on when a person has spoken.
    Waiting(Waiting),
    /// Another role goes on.
    HandOff {
        /// Which.
        to: String,
        /// What it is given.
        package: Value,
    },
}

/// What came of a turn.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What the model said last.
    pub text: String,
    /// How often the model was asked.
    pub steps: usize,
    /// What that took.
    pub usage: Usage,
}
