//! [`Notice`]: settings that do not take effect as written, and other facts the user should know.
//! [`Display`](std::fmt::Display) writes English; a program in another language matches on the
//! variant.

use std::fmt;

use waterline_agent::mcp::ServerProblem;
use waterline_agent::skill::SkillProblem;
use waterline_agent::{AgentError, Cause};
use waterline_sandbox::Unsupported;

/// A notice for the user about the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A limit that came with the directory is higher than the user allows.
    Narrowed {
        /// The key of the limit.
        key: String,
        /// The file that sets it.
        file: &'static str,
        /// The value in the file.
        wanted: String,
        /// The value in force.
        allowed: String,
    },
    /// A model that the project's file chooses is ignored, because only that file defines it.
    UntrustedModel {
        /// `fallback` or `summariser`.
        key: &'static str,
        /// The name that the file chooses.
        model: String,
    },
    /// The project's file may send the conversation to an address.
    ProjectAddress(String),
    /// The `.env` file exists and cannot be read.
    EnvFile(Cause),
    /// A key comes from the `.env` file.
    KeyFromEnvFile(&'static str),
    /// A variable applies to a policy that is not in use.
    UnusedVariable {
        /// The name of the variable.
        variable: &'static str,
        /// The policies it applies to.
        preset: String,
        /// The policy in use.
        policy: String,
    },
    /// A fallback model cannot be used.
    Fallback {
        /// The name of the fallback.
        model: String,
        /// Why it cannot be used.
        why: Cause,
    },
    /// The kernel cannot confine commands; the reason.
    Unconfined(Unsupported),
    /// A role of the project is ignored, because another role has its name.
    RoleTaken(String),
    /// A skill cannot be used.
    Skill(SkillProblem),
    /// A server or one of its tools cannot be used.
    Server(ServerProblem),
    /// The project's roles are ignored, for this reason.
    Roles(Cause),
    /// Two tools have this name; the second one is ignored.
    DuplicateTool(String),
    /// No tool matches a name or a pattern of the settings.
    NoToolMatches {
        /// The name or the pattern.
        pattern: String,
        /// The names of all tools.
        known: String,
    },
    /// Another error of the agent's settings.
    Other(String),
}

impl From<AgentError> for Notice {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::DuplicateTool(name) => Self::DuplicateTool(name),
            AgentError::NoToolMatches { pattern, known } => Self::NoToolMatches { pattern, known },
            other => Self::Other(other.to_string()),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Narrowed { key, file, wanted, allowed } => {
                write!(
                    f,
                    "{file} sets {key} = {wanted}, but the limit is {allowed}; \
                     raise it in your user config"
                )
            }
            Self::UntrustedModel { key, model } => {
                write!(
                    f,
                    "ignoring the {key} {model:?} of waterline.toml; \
                     to use it, add [models.{model:?}] to your user config"
                )
            }
            Self::ProjectAddress(address) => {
                write!(f, "waterline.toml in this directory may send the conversation to {address}")
            }
            Self::KeyFromEnvFile(name) => write!(f, "using {name} from .env"),
            Self::UnusedVariable { variable, preset, policy } => {
                write!(
                    f,
                    "{variable} has no effect: it applies to the policy {preset}, \
                     and the policy in use is {policy}"
                )
            }
            Self::Fallback { model, why } => {
                write!(f, "ignoring the fallback {model:?}: {why}")
            }
            Self::Unconfined(why) => {
                write!(f, "commands cannot be sandboxed here ({why}); each one needs your approval")
            }
            Self::RoleTaken(name) => {
                write!(f, "ignoring the project's role {name}: another role has that name")
            }
            Self::Skill(problem) => problem.fmt(f),
            Self::Server(problem) => problem.fmt(f),
            Self::Roles(why) => write!(f, "ignoring the project's roles: {why}"),
            Self::DuplicateTool(name) => {
                write!(f, "duplicate tool name {name:?}; the second tool is ignored")
            }
            Self::NoToolMatches { pattern, known } => {
                write!(f, "no tool matches {pattern:?}; available tools: {known}")
            }
            Self::EnvFile(why) => why.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}
