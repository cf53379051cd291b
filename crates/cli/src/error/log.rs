//! Errors of the log.

use waterline_log::{LogError, Refusal};

use super::system::io_error;
use crate::lang::list;
use crate::phrase::phrase;
use crate::text;

pub(super) fn describe(error: &LogError) -> Option<String> {
    Some(match error {
        LogError::InvalidUrl { url } => text!("error-log-address", url = url.as_str()),
        LogError::Open { name, text } => {
            text!("error-log-open", name = name.as_str(), cause = phrase(text))
        }
        LogError::NotALog { name } => text!("error-log-foreign", name = name.as_str()),
        LogError::UnsupportedFormat { name, found, known } => {
            text!("error-log-newer", name = name.as_str(), found = *found, known = *known)
        }
        LogError::ReadOnly { name } => text!("error-log-read-only", name = name.as_str()),
        LogError::DiskFull { name } => text!("error-log-full", name = name.as_str()),
        LogError::Locked { name } => text!("error-log-locked", name = name.as_str()),
        LogError::Busy { name, connections, wait } => text!(
            "error-log-busy",
            name = name.as_str(),
            connections = *connections,
            wait = format!("{wait:?}")
        ),
        LogError::Flush { name, text } => {
            text!("error-log-flush", name = name.as_str(), cause = phrase(text))
        }
        LogError::Deleted { name } => text!("error-log-deleted", name = name.as_str()),
        LogError::Damaged { name, text } => {
            text!("error-log-damaged", name = name.as_str(), cause = phrase(text))
        }
        LogError::Connection { name, text } => {
            text!("error-log-connection", name = name.as_str(), cause = phrase(text))
        }
        LogError::Database { name, text } => {
            text!("error-with-cause", error = name.as_str(), cause = phrase(text))
        }
        LogError::Conflict { session, .. } => {
            text!("error-log-conflict", session = session.as_str())
        }
        LogError::Leased { session, .. } => text!("error-log-leased", session = session.as_str()),
        LogError::LeaseLost { session } => {
            text!("error-log-lease-lost", session = session.as_str())
        }
        LogError::WriteConflict { name } => text!("error-log-race", name = name.as_str()),
        LogError::NoSession { id } => text!("error-log-no-session", id = id.as_str()),
        LogError::Ambiguous { prefix, matches } => {
            text!("error-log-ambiguous", prefix = prefix.as_str(), matches = list(matches))
        }
        LogError::Exists { id } => text!("error-log-exists", id = id.as_str()),
        LogError::Missing { what, id } => {
            let kind = what.replace(' ', "-");
            text!("error-log-missing", kind = kind, what = *what, id = id.as_str())
        }
        LogError::InvalidId { text } => text!("error-log-no-id", id = text.as_str()),
        LogError::Line { line, cause } => {
            let cause = describe(cause).unwrap_or_else(|| cause.to_string());
            text!("error-log-line", line = line.to_string(), cause = cause)
        }
        LogError::File { path, source } => {
            let path = path.display().to_string();
            text!("error-log-file", path = path, cause = io_error(source))
        }
        LogError::Output(error) => io_error(error),
        LogError::Refused(refusal) => return describe_refusal(refusal),
        _ => return None,
    })
}

fn describe_refusal(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::NothingToRedo(session) => {
            text!("error-log-nothing-to-redo", session = session.as_str())
        }
        Refusal::NotFolded(session) => text!("error-log-not-folded", session = session.as_str()),
        Refusal::NotCleared(session) => text!("error-log-not-cleared", session = session.as_str()),
        Refusal::NotInSession { session, message } => text!(
            "error-log-not-in-session",
            session = session.as_str(),
            message = message.as_str()
        ),
        Refusal::TooFarBack { session, count } => {
            text!("error-log-too-far-back", session = session.as_str(), count = *count)
        }
        Refusal::TooFewTurns { asked, count, .. } => {
            text!("error-log-too-few-turns", asked = *asked, count = *count)
        }
        Refusal::Fork { session, at, count } => {
            text!("error-log-fork", session = session.as_str(), at = at.to_string(), count = *count)
        }
        Refusal::SessionId(start) => {
            text!("error-log-session-id", id = start.escape_debug().to_string())
        }
        Refusal::BackupOfItself(path) => {
            text!("error-log-backup-of-itself", path = path.display().to_string())
        }
        Refusal::Other(why) => phrase(why),
        _ => return None,
    })
}
