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
    /// Parses a typed reply: `y`, `a`, `n` or such a word, in English or Chinese. The letters may
    /// be full-width ones, as Chinese input methods write them. Returns `None` for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches(['.', '!', '。', '！']).to_lowercase();
        match text.as_str() {
            "y" | "ｙ" | "yes" | "yes please" | "ok" | "okay" | "sure" | "是" | "是的" | "好"
            | "好的" | "可以" | "允许" | "同意" => Some(Self::Allow),
            "a" | "ａ" | "always" | "始终" | "总是" | "一直" | "始终允许" | "总是允许" => {
                Some(Self::AllowAlways)
            }
            "n" | "ｎ" | "no" | "否" | "不" | "不要" | "不行" | "拒绝" => {
                Some(Self::Deny(None))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_may_be_typed_in_chinese() {
        let all = |words: &str| -> Vec<Option<ApprovalReply>> {
            words.split(' ').map(ApprovalReply::read).collect()
        };
        let allowed = all("y Y ｙ Ｙ yes 是 好 可以 允许 同意 好的。");
        assert_eq!(allowed, vec![Some(ApprovalReply::Allow); allowed.len()]);
        let always = all("a ａ Ａ always 始终 总是 一直");
        assert_eq!(always, vec![Some(ApprovalReply::AllowAlways); always.len()]);
        let denied = all("n ｎ Ｎ no 否 不 不要 拒绝");
        assert_eq!(denied, vec![Some(ApprovalReply::Deny(None)); denied.len()]);
        assert_eq!(all("不要删除日志 好像不对 ｙｅｓ？"), [None, None, None]);
    }
}
