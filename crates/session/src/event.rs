//! What a caller hears while a call is under way.

use std::time::Duration;

use waterline_provider::answer::Delta;

/// Something that just happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// More of the answer.
    Delta(Delta),
    /// What came of the answer so far is void: the call is made again.
    Again {
        /// Why.
        why: String,
        /// After how long.
        wait: Duration,
    },
    /// Another model is asked.
    Model(String),
    /// A summary is being made; the call waits for it.
    Summarising,
    /// A new generation began.
    Folded {
        /// Why.
        reason: String,
        /// Tokens before.
        before: usize,
        /// Tokens after.
        after: usize,
    },
    /// A plain word for the user.
    Notice(String),
}
