//! Descriptions of tool calls, so that approval and display do not depend on a list of tool names.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use waterline_sandbox::protected;

use crate::changes::FileDiff;

/// The kind of access a tool needs. It decides about approval and concurrent calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// Reads from the workspace or the session.
    Read,
    /// Changes the workspace or the session.
    Write,
    /// Runs a program.
    Execute,
    /// Accesses something outside: a server, the network. Its effects there are unknown.
    #[default]
    Network,
    /// Starts a sub-agent.
    Delegate,
    /// Waits for an answer of the user.
    AskUser,
    /// Hands the work to another role.
    HandOff,
}

impl Capability {
    /// Returns whether a call with this access may change files.
    pub(crate) const fn may_change_files(self) -> bool {
        !matches!(self, Self::Read | Self::AskUser)
    }
}

/// What a call touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Unknown: all arguments count.
    #[default]
    Unknown,
    /// A file or a directory.
    Path(String),
    /// A file that is created or overwritten.
    Content {
        /// The path of the file.
        path: String,
        /// What the file will contain.
        content: String,
    },
    /// A replacement in a file.
    Edit {
        /// The path of the file.
        path: String,
        /// The text that is replaced.
        old: String,
        /// What takes the place of the old text.
        new: String,
    },
    /// A shell command.
    Command(String),
    /// The address that is fetched.
    Url(String),
}

impl Subject {
    /// Returns the path, as written in the call.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path(path) | Self::Content { path, .. } | Self::Edit { path, .. } => Some(path),
            Self::Unknown | Self::Command(_) | Self::Url(_) => None,
        }
    }

    /// Returns the path in the argument `path`, empty if it is missing.
    pub(crate) fn of_path(arguments: &Value) -> Self {
        Self::Path(text(arguments, "path").unwrap_or_default())
    }
}

/// A tool's description of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallInfo {
    /// The kind of access the tool needs.
    pub capability: Capability,
    /// What the call touches.
    pub subject: Subject,
    /// A one-line summary of the call, without the name of the tool.
    pub summary: String,
    /// The names of the [protected paths](waterline_sandbox::protected) that the call changes.
    pub protected: Vec<String>,
    /// The change that the call would make to a file, if the user is asked to approve it.
    pub diff: Option<FileDiff>,
}

/// Returns the name of the protected path in the argument `path`, if it is one.
pub(crate) fn protected_path(arguments: &Value) -> Vec<String> {
    let path = normalize_path(&text(arguments, "path").unwrap_or_default());
    protected::name_of(Path::new(&path)).map(str::to_owned).into_iter().collect()
}

/// Removes empty parts, `.`, and `..` together with the directory before it: `a/../.git//hooks/./x`
/// becomes `.git/hooks/x`.
pub(crate) fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Returns a string argument.
pub(crate) fn text(arguments: &Value, name: &str) -> Option<String> {
    arguments.get(name)?.as_str().map(str::to_owned)
}

/// Returns the arguments on one line: a single one as it is, several with their names.
pub(crate) fn values(arguments: &Value) -> String {
    let show = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = match arguments {
        Value::Object(fields) if fields.len() == 1 => fields.values().map(show).collect(),
        Value::Object(fields) => {
            let named = fields.iter().map(|(name, value)| format!("{name}: {}", show(value)));
            named.collect::<Vec<_>>().join(", ")
        }
        Value::Null => String::new(),
        other => show(other),
    };
    line.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn several_arguments_are_shown_with_their_names() {
        assert_eq!(values(&json!({"path": "a\nb"})), "a b");
        assert_eq!(values(&json!({"lines": 3, "path": "a b"})), "lines: 3, path: a b");
        assert_eq!(values(&json!({})), "");
    }
}
