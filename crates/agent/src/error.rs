//! What can go wrong around a turn. A tool that fails is no error here: its failure is a result
//! that the model reads.

use waterline_log::LogError;
use waterline_sandbox::SandboxError;
use waterline_session::SessionError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The session: its log, or its model.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The workspace or a granted directory cannot be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// What is stored of a session does not parse.
    #[error(
        "session {session}: its stored {field} cannot be read ({why}); if a newer program wrote it, use that one, else restore an earlier checkpoint"
    )]
    State {
        /// The session.
        session: String,
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Another process works in the folder of the session: in the session itself, or in that of
    /// another role.
    #[error(
        "another process works in the workspace of session {session}; wait for it or end it, or fork the session"
    )]
    InUse {
        /// The session that was refused.
        session: String,
    },
    /// A setting is wrong.
    #[error("{0}")]
    Setting(String),
    /// There is no conversation to resume.
    #[error("there is no session to resume yet")]
    NothingToResume,
    /// There is nothing to go on with.
    #[error("there is nothing to go on with: the last turn is finished")]
    Finished,
}
