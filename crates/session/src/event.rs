//! What a caller hears while a call is under way.

use std::time::Duration;

use waterline_provider::RawEvent;
use waterline_provider::answer::Delta;

/// Something that just happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of the provider's stream, as it came, for a gateway whose client speaks the same
    /// wire. It precedes the deltas that were read from it. Emitted on request.
    Raw(RawEvent),
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
