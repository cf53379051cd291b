//! How a turn ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use waterline_log::{State, kept};
use waterline_provider::answer::Usage;

use crate::person::{Question, Request};

/// What a turn waits for. It is state of the session: it survives the program, and no fold can lose or invent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Waiting {
    /// Somebody must agree to a call.
    Approval(Request),
    /// The model asked something.
    Question(Question),
}

impl Waiting {
    /// What a session waits for.
    #[must_use]
    pub fn of(state: &State) -> Option<Self> {
        serde_json::from_value(state.pending_action.clone()).ok()
    }

    /// The call that waits.
    #[must_use]
    pub fn call_id(&self) -> &str {
        match self {
            Self::Approval(request) => &request.call_id,
            Self::Question(question) => &question.call_id,
        }
    }
}

/// Work that goes to another role. It is state, so that it is not lost with the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandedOff {
    pub(crate) to: String,
    pub(crate) package: Value,
    /// The other role has it.
    #[serde(default)]
    pub(crate) done: bool,
}

impl HandedOff {
    /// Where the state keeps it.
    const KEY: &str = kept::HAND_OFF;

    pub(crate) fn of(state: &State) -> Option<Self> {
        serde_json::from_value(state.other.get(Self::KEY)?.clone()).ok()
    }

    pub(crate) fn store(&self, state: &mut State) {
        state.other.insert(Self::KEY.to_owned(), serde_json::to_value(self).unwrap_or_default());
    }

    pub(crate) fn forget(state: &mut State) {
        state.other.remove(Self::KEY);
    }
}

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
