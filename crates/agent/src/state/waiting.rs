//! What a turn waits for, and work that waits for another role. They are state: they survive the
//! program, and no fold can lose or invent them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::describe::CallInfo;

/// A call that somebody must agree to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with, as JSON.
    pub arguments: String,
    /// Why somebody is asked.
    pub reason: String,
    /// Whether "always" may be said to it.
    pub may_always: bool,
    /// The sub-agent that wants it; none for the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// What the tool says about the call. It is not stored.
    #[serde(skip)]
    pub info: Box<CallInfo>,
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The call.
    pub call_id: String,
    /// What is asked.
    pub question: String,
    /// Answers to choose from; any other may be given too.
    pub choices: Vec<String>,
}

/// What a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Waiting {
    /// Somebody must agree to a call.
    Approval(ApprovalRequest),
    /// The model asked something.
    Question(Question),
}

impl Waiting {
    /// The call that waits.
    #[must_use]
    pub fn call_id(&self) -> &str {
        match self {
            Self::Approval(request) => &request.call_id,
            Self::Question(question) => &question.call_id,
        }
    }

    /// What a note says about it.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Approval(request) => {
                format!("waits for approval: {} {}", request.tool, request.arguments)
            }
            Self::Question(question) => {
                format!("waits for the user's answer: {}", question.question)
            }
        }
    }
}

/// Work that goes to another role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandedOff {
    pub(crate) to: String,
    pub(crate) package: Value,
    /// The other role has it.
    #[serde(default)]
    pub(crate) done: bool,
}
