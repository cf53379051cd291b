//! Errors of a session's calls.

use waterline_session::SessionError;

use super::{log, policy, provider};
use crate::text;

pub(super) fn describe(error: &SessionError) -> Option<String> {
    Some(match error {
        SessionError::Empty => text!("error-session-empty"),
        SessionError::Crowded => text!("error-session-crowded"),
        SessionError::Ending => text!("error-session-ending"),
        SessionError::Log(error) => return log::describe(error),
        SessionError::Call(error) => return provider::describe(error),
        SessionError::Policy(error) => return policy::describe(error),
        _ => return None,
    })
}
