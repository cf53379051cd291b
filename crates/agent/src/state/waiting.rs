//! Requests that a turn waits for, and pending hand-offs. They are stored as state, so that they
//! survive a restart and no fold can lose or invent them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::describe::CallInfo;
use crate::reason::ApprovalReason;

/// A call that needs approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id by which the result refers to the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// Why approval is needed.
    pub reason: ApprovalReason,
    /// Whether the user may reply with "always".
    pub may_always: bool,
    /// Whether a general approval given in advance covers the call.
    #[serde(default)]
    pub in_advance: bool,
    /// The sub-agent that made the call; `None` for the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The granted directories in which the call may be the first to change files. An approval
    /// applies to them, not only to the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<PathBuf>,
    /// The names of the protected paths that the call may change if it is approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The tool's description of the call. It is not stored.
    #[serde(skip)]
    pub info: Box<CallInfo>,
}

impl ApprovalRequest {
    /// Creates a request for a call of the agent itself, which is approved once.
    #[must_use]
    pub fn new(
        call_id: impl Into<String>,
        tool: impl Into<String>,
        arguments: impl Into<String>,
        reason: impl Into<ApprovalReason>,
    ) -> Self {
        Self {
            call_id: call_id.into(),
            tool: tool.into(),
            arguments: arguments.into(),
            reason: reason.into(),
            may_always: false,
            in_advance: false,
            context_id: None,
            directories: Vec::new(),
            protected: Vec::new(),
            info: Box::default(),
        }
    }
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Question {
    /// The id of the call that asks.
    pub call_id: String,
    /// The text of the question.
    pub question: String,
    /// Suggested answers; any other answer is allowed too.
    pub choices: Vec<String>,
}

impl Question {
    /// Creates a question.
    #[must_use]
    pub fn new(
        call_id: impl Into<String>,
        question: impl Into<String>,
        choices: Vec<String>,
    ) -> Self {
        Self { call_id: call_id.into(), question: question.into(), choices }
    }
}

/// What a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Waiting {
    /// The approval of a call.
    Approval(ApprovalRequest),
    /// The answer to a question.
    Question(Question),
}

impl Waiting {
    /// Returns the id of the call that waits.
    #[must_use]
    pub fn call_id(&self) -> &str {
        match self {
            Self::Approval(request) => &request.call_id,
            Self::Question(question) => &question.call_id,
        }
    }

    /// Returns the line that folds keep.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Approval(request) => {
                format!("pending approval: {} {}", request.tool, request.arguments)
            }
            Self::Question(question) => {
                format!("pending question to the user: {}", question.question)
            }
        }
    }
}

/// A hand-off to another role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandedOff {
    pub(crate) to: String,
    pub(crate) package: Value,
    /// Whether the other role has taken over.
    #[serde(default)]
    pub(crate) done: bool,
}
