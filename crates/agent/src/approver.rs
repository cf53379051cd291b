//! Decisions that are a person's: whether a call may run, the answer to a question, and messages
//! sent while a turn runs.

use futures_util::future::BoxFuture;

use crate::state::{ApprovalRequest, Question};

/// The reply to a request for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalReply {
    /// Run the call.
    Allow,
    /// Run the call, and do not ask about the same again in this session.
    AllowAlways,
    /// Do not run the call, perhaps with a reason for the model.
    Deny(Option<String>),
    /// No reply came, for this reason: the call is not run, and the turn continues.
    NoReply(String),
    /// The reply comes later: the turn ends and waits.
    Deferred,
}

impl ApprovalReply {
    /// Parses a typed reply: `y`, `a`, `n` and their words. Returns `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "y" | "yes" | "是" => Some(Self::Allow),
            "a" | "always" | "总是" => Some(Self::AllowAlways),
            "n" | "no" | "否" => Some(Self::Deny(None)),
            _ => None,
        }
    }
}

/// Makes the decisions of a turn that are a person's.
pub trait Approver: Send + Sync {
    /// Decides whether a call may run.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply>;

    /// Answers a question of the model. `None`: the turn ends and waits for the answer.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>>;

    /// Returns messages that the user sent since the last call. They are added before the next
    /// model call.
    fn poll_steering(&self) -> Vec<String> {
        Vec::new()
    }
}

/// An approver and observer for agents that nobody attends: it refuses calls that need approval,
/// answers no question, and ignores events.
#[derive(Clone, Copy, Debug)]
pub struct Unattended;

impl Approver for Unattended {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async { ApprovalReply::NoReply("nobody is there to agree to it".to_owned()) })
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
