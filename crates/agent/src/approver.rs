//! Decisions made by people: approvals of calls, answers to questions, and messages sent during a
//! turn.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::state::{ApprovalRequest, Question};

/// The reply to a request for approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalReply {
    /// Run the call.
    Allow,
    /// Run the call, and do not ask about the same again in this session.
    AllowAlways,
    /// Do not run the call, with an optional reason for the model.
    Deny(Option<String>),
    /// No person could be asked, for this reason: the call is not run, and the turn continues. A
    /// command that needs approval only because it can change files in a directory runs without
    /// write access to it.
    NoReply(String),
    /// A person was asked and did not reply within this time: the call is not run, and the turn
    /// continues.
    TimedOut(Duration),
    /// The reply comes later: the turn ends and waits.
    Deferred,
}

impl ApprovalReply {
    /// Parses a typed reply: `y`, `a`, `n` or the full word. Returns `None` for anything else.
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

/// Makes the decisions in a turn that are left to a person.
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

/// Why a call is not approved when no person can be asked.
pub(crate) const NO_APPROVER: &str = "no one is available to approve it";

/// An approver and observer for unattended agents: it denies calls that need approval, leaves
/// questions unanswered, and ignores events.
#[derive(Clone, Copy, Debug)]
pub struct Unattended;

impl Approver for Unattended {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async { ApprovalReply::NoReply(NO_APPROVER.to_owned()) })
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}
