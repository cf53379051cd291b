//! Events that a caller receives during a call.

use std::time::Duration;

use waterline::reason::Reasons;
use waterline_provider::RawEvent;
use waterline_provider::answer::Delta;

use crate::notice::{Notice, RetryReason};

/// An event during a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// An event of the provider's stream, unchanged, for a gateway whose client speaks the same
    /// wire. It precedes the deltas decoded from it. Emitted on request.
    Raw(RawEvent),
    /// The request is about to be sent: the server reads this many tokens, less those in its cache.
    Sending {
        /// The tokens of the prompt.
        tokens: usize,
    },
    /// The server starts to respond.
    Responds,
    /// More of the answer.
    Delta(Delta),
    /// The call is retried; the partial answer so far is discarded.
    Retry {
        /// Why the call is retried.
        why: RetryReason,
        /// The delay before the retry.
        wait: Duration,
    },
    /// Another model is called from now on, by its name.
    Model(String),
    /// A summary is being made; the call waits for it.
    Summarizing,
    /// The context was folded: a new generation starts.
    Folded {
        /// Why it was folded.
        reasons: Reasons,
        /// Tokens before the fold.
        before: usize,
        /// Tokens after the fold.
        after: usize,
    },
    /// A notice for the user.
    Notice(Notice),
}
