//! Why a call failed.

use waterline::policy::PolicyError;
use waterline_log::LogError;
use waterline_provider::CallError;

/// Why a call failed. Messages that were sent are already stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The log could not be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The provider failed, after all retries.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The policy is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The conversation is empty.
    #[error("nothing to send; add a message first")]
    Empty,
    /// Other callers kept appending to the session.
    #[error("too many concurrent callers of the same session; retry")]
    Crowded,
    /// The work was cancelled because the program shuts down.
    #[error("cancelled: the program is shutting down")]
    Ending,
}
