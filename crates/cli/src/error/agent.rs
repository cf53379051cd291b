//! Errors of the agent.

use waterline_agent::AgentError;

use super::{describe_cause, log, sandbox, session};
use crate::foreign::foreign;
use crate::lang::relist;
use crate::phrase::phrase;
use crate::text;

pub(super) fn describe(error: &AgentError) -> Option<String> {
    Some(match error {
        AgentError::State { session, field, why } => text!(
            "error-agent-state",
            session = session.as_str(),
            field = *field,
            why = foreign(why)
        ),
        AgentError::InUse { session } => text!("error-agent-in-use", session = session.as_str()),
        AgentError::OtherUser { session } => {
            text!("error-agent-other-user", session = session.as_str())
        }
        AgentError::NoWorkspace { session } => {
            text!("files-no-workspace", id = session.as_str())
        }
        AgentError::NoSession => text!("error-agent-no-session"),
        AgentError::NothingToResume => text!("error-agent-finished"),
        AgentError::Session(error) => return session::describe(error),
        AgentError::Log(error) => return log::describe(error),
        AgentError::Sandbox(error) => return sandbox::describe(error),
        AgentError::DuplicateTool(name) => {
            text!("error-agent-duplicate-tool", name = name.as_str())
        }
        AgentError::NoToolMatches { pattern, known } => {
            text!("error-agent-no-tool", pattern = pattern.as_str(), known = relist(known))
        }
        AgentError::UnknownRole { name, known } => {
            text!("error-agent-unknown-role", name = name.as_str(), known = relist(known))
        }
        AgentError::Setting(why) => phrase(why),
        AgentError::InvalidSetting { place, cause } => {
            text!("error-with-cause", error = phrase(place), cause = describe_cause(cause))
        }
        AgentError::Unusable(cause) => describe_cause(cause),
        _ => return None,
    })
}
