//! How a turn ended.

use serde_json::Value;
use waterline_provider::answer::Usage;

use crate::reason::EndReason;
use crate::state::Waiting;

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The model gave an answer.
    Done,
    /// A limit was reached; the text of the outcome is the model's report.
    Limit(EndReason),
    /// The turn was stopped for this reason.
    Halted(EndReason),
    /// The turn continues when the user has replied.
    Waiting(Waiting),
    /// Another role takes over.
    HandOff {
        /// The name of the role that takes over.
        to: String,
        /// The summary and paths for that role.
        package: Value,
    },
}

/// The result of a turn.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The id of the run: events, checkpoints and the state name it too.
    pub run_id: String,
    /// How it ended.
    pub ending: Ending,
    /// The text of the last answer.
    pub text: String,
    /// Number of model calls.
    pub steps: usize,
    /// Tokens used by all model calls of the turn.
    pub usage: Usage,
}
