//! Why a call did not come through.

use waterline::policy::PolicyError;
use waterline_log::LogError;
use waterline_provider::CallError;

/// Why a call did not come through. What was said before it is stored.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The provider, after everything that could be tried.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// There is nothing to send.
    #[error("there is nothing to send: say something first")]
    Empty,
    /// Other callers kept moving the session on.
    #[error("too many callers go on with the same session at once; try again")]
    Crowded,
    /// The work was given up, because the program ends.
    #[error("the program is ending")]
    Ending,
}
