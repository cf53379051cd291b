//! [`Lost`]: a value that a policy would have forgotten.

use serde::Serialize;

/// A value that a call needed and that its context no longer had. Messages are numbered
/// from 1, without the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Lost {
    /// The string as the call wrote it.
    pub value: String,
    /// The newest message that showed it.
    pub seen: usize,
    /// The source of that message: `user`, `assistant`, or the name of a tool.
    pub by: String,
    /// The message whose call needed it.
    pub needed: usize,
    /// The tool that was called.
    pub tool: String,
    /// The fold that dropped it; `None` if it was truncated before it was ever sent.
    pub fold: Option<Fold>,
}

/// One fold of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fold {
    /// The number of the fold, starting at 1.
    pub number: usize,
    /// The message whose call it preceded.
    pub before: usize,
    /// Tokens before the fold.
    pub from: usize,
    /// Tokens after the fold.
    pub to: usize,
}
