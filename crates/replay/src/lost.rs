//! What a policy would have forgotten: each value that a call needed and its context no longer had.

/// One value that a call needed and its context no longer had. Messages are numbered as the file
/// numbers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The value.
    pub value: String,
    /// The newest message that had shown it.
    pub seen: usize,
    /// Who said it: `user`, `assistant`, or the tool.
    pub by: String,
    /// The message whose call needed it.
    pub needed: usize,
    /// The tool that was called.
    pub tool: String,
    /// The fold after which the context no longer showed it; `None` when it was cut before it was
    /// first sent.
    pub fold: Option<Fold>,
}

/// One fold of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Its number, from 1.
    pub number: usize,
    /// The message whose call it came before.
    pub before: usize,
    /// Tokens before it.
    pub from: usize,
    /// Tokens after it.
    pub to: usize,
}
