//! Errors of the agent. A failed tool is not an error: its failure is a result that the model
//! reads.

use waterline::phrase::Phrase;
use waterline_log::LogError;
use waterline_sandbox::SandboxError;
use waterline_session::SessionError;

use crate::cause::Cause;

/// Why an agent cannot be opened, configured or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// An error of the session: its log or its model.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// An error of the log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The workspace or a granted directory cannot be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The stored state of a session does not parse.
    #[error(
        "session {session}: invalid stored {field} ({why}); if a newer version of the program \
         wrote it, use that version, otherwise restore an earlier checkpoint"
    )]
    State {
        /// The id of the session.
        session: String,
        /// The field that does not parse.
        field: &'static str,
        /// The error of the parser.
        why: String,
    },
    /// Another process works in the workspace of the session: in the same session, or in the
    /// session of another role.
    #[error(
        "session {session} is in use by another process; wait for it to finish, stop it, or fork \
         the session"
    )]
    InUse {
        /// The session that was refused.
        session: String,
    },
    /// The session has no workspace on this machine.
    #[error("session {session} has no workspace on this machine, so its files cannot be moved")]
    NoWorkspace {
        /// The session that was refused.
        session: String,
    },
    /// A setting is invalid.
    #[error("{0}")]
    Setting(Phrase),
    /// A setting, a role or a file is invalid for this reason.
    #[error("{place}: {cause}")]
    InvalidSetting {
        /// The setting, the role or the file.
        place: Phrase,
        /// What is wrong with it.
        cause: Cause,
    },
    /// A model or a policy that a setting names cannot be used.
    #[error("{0}")]
    Unusable(Cause),
    /// Two tools have the same name; the second one is ignored.
    #[error("duplicate tool name {0:?}; the second tool is ignored")]
    DuplicateTool(String),
    /// No tool matches a name or a pattern.
    #[error("no tool matches {pattern:?}; available tools: {known}")]
    NoToolMatches {
        /// The name or the pattern.
        pattern: String,
        /// The names of all tools.
        known: String,
    },
    /// No role has this name.
    #[error("unknown role {name:?}; expected one of {known}")]
    UnknownRole {
        /// The role that was requested.
        name: String,
        /// The names of all roles.
        known: String,
    },
    /// The session belongs to another user.
    #[error("session {session} belongs to another user")]
    OtherUser {
        /// The session that was refused.
        session: String,
    },
    /// No session can be resumed.
    #[error("no session to resume yet")]
    NoSession,
    /// The last turn is finished.
    #[error("nothing to resume: the last turn is finished")]
    NothingToResume,
}
