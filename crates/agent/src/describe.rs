//! What a tool says about one of its calls, so that approval and display need no list of tool
//! names.

use serde_json::Value;

/// What a tool can do: what may run without approval, and at the same time as other calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// It reads something in the workspace or the session.
    Read,
    /// It changes something in the workspace or the session.
    Write,
    /// It runs a program.
    Execute,
    /// It reaches something outside: a server, the network. Nothing is known about what it does
    /// there.
    #[default]
    Network,
    /// It starts a sub-agent.
    Delegate,
    /// It asks the user.
    AskUser,
    /// It hands the work to another role.
    HandOff,
}

/// What a call touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// Nothing that the tool can name: all of its arguments count.
    #[default]
    Unknown,
    /// A file or a directory.
    Path(String),
    /// A file that is written whole.
    Content {
        /// The file.
        path: String,
        /// Its new content.
        content: String,
    },
    /// A passage of a file that is replaced.
    Edit {
        /// The file.
        path: String,
        /// The passage.
        old: String,
        /// Its replacement.
        new: String,
    },
    /// A command.
    Command(String),
    /// A web address.
    Url(String),
}

impl Subject {
    /// The path, as the call has it.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path(path) | Self::Content { path, .. } | Self::Edit { path, .. } => Some(path),
            Self::Unknown | Self::Command(_) | Self::Url(_) => None,
        }
    }

    /// The path in the argument `path`; empty where it is missing.
    pub(crate) fn of_path(arguments: &Value) -> Self {
        Self::Path(text(arguments, "path").unwrap_or_default())
    }
}

/// What a tool says about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallInfo {
    /// What the tool can do.
    pub capability: Capability,
    /// What the call touches.
    pub subject: Subject,
    /// The call on one line, without the name of the tool.
    pub summary: String,
}

/// An argument that is a text.
pub(crate) fn text(arguments: &Value, name: &str) -> Option<String> {
    arguments.get(name)?.as_str().map(str::to_owned)
}

/// The values of the arguments on one line, without the JSON around them.
pub(crate) fn values(arguments: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words = match arguments {
        Value::Object(fields) => fields.values().map(word).collect::<Vec<_>>().join(" "),
        Value::Null => String::new(),
        other => word(other),
    };
    words.replace('\n', " ")
}
