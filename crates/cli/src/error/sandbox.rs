//! Errors of the workspace and the granted directories.

use waterline_sandbox::network::InvalidHost;
use waterline_sandbox::workspace::NoDirectory;
use waterline_sandbox::{SandboxError, Unsupported};

use super::system::{io_error, path_reason};
use crate::foreign::foreign;
use crate::lang::list;
use crate::text;

pub(super) fn describe(error: &SandboxError) -> Option<String> {
    Some(match error {
        SandboxError::Workspace { path, why } => {
            let path = path.display().to_string();
            text!("error-sandbox-workspace", path = path, why = path_reason(why))
        }
        SandboxError::Grant { path, why } => {
            let path = path.display().to_string();
            text!("error-sandbox-grant", path = path, why = path_reason(why))
        }
        SandboxError::Outside { path, allowed, .. } => {
            text!("error-sandbox-outside", path = path.as_str(), allowed = list(allowed))
        }
        SandboxError::NotFound { path } => text!("error-sandbox-not-found", path = path.as_str()),
        SandboxError::IsDirectory { path } => {
            text!("error-sandbox-is-directory", path = path.as_str())
        }
        SandboxError::NotDirectory { path } => {
            text!("error-sandbox-not-directory", path = path.as_str())
        }
        SandboxError::NotRegular { path } => {
            text!("error-sandbox-not-regular", path = path.as_str())
        }
        SandboxError::TooLarge { path, bytes, limit } => {
            text!("error-sandbox-too-large", path = path.as_str(), bytes = *bytes, limit = *limit)
        }
        SandboxError::NotText { path, bytes } => {
            text!("error-sandbox-not-text", path = path.as_str(), bytes = *bytes)
        }
        SandboxError::Path { path, why } => {
            text!("error-sandbox-path", path = path.as_str(), why = path_reason(why))
        }
        SandboxError::ReadOnly { path } => {
            text!("error-sandbox-read-only", path = path.display().to_string())
        }
        SandboxError::Protected { path } => text!("error-sandbox-protected", path = *path),
        SandboxError::ProtectedLink { path, target } => {
            let target = target.display().to_string();
            text!("error-sandbox-protected-link", path = path.as_str(), target = target)
        }
        SandboxError::Permissions { path } => {
            text!("error-sandbox-permissions", path = path.as_str())
        }
        SandboxError::Io { path, error } => {
            text!("error-with-cause", error = path.as_str(), cause = io_error(error))
        }
        _ => return None,
    })
}

/// Returns the text of an invalid entry in the list of hosts.
pub(super) fn invalid_host(error: &InvalidHost) -> String {
    text!("error-invalid-host", name = error.text.as_str())
}

/// Returns the text of a grant without a directory.
pub(super) fn no_directory(_: &NoDirectory) -> String {
    text!("error-no-directory")
}

/// Returns why commands cannot be confined.
pub fn unsupported(reason: &Unsupported) -> String {
    match reason {
        Unsupported::NotLinux => text!("sandbox-not-linux"),
        Unsupported::NoLandlock => text!("sandbox-no-landlock"),
        Unsupported::NoHostList => text!("sandbox-no-host-list"),
        Unsupported::Failed { mechanism, error } => {
            text!("error-with-cause", error = *mechanism, cause = foreign(error))
        }
        Unsupported::NotChecked => text!("sandbox-not-checked"),
        other => other.to_string(),
    }
}
