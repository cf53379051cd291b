//! [`WorkspaceChoice`]: where the user wants the agent to work.

use std::path::PathBuf;

/// Where the user wants the agent to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceChoice {
    /// In a private workspace.
    Private,
    /// In the directory that the program was started in.
    Here,
    /// In this directory.
    Directory(PathBuf),
}

impl std::str::FromStr for WorkspaceChoice {
    type Err = String;

    /// Parses `private`, `here` or the path of a directory.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("expected here, private or a directory".to_owned()),
            "private" => Ok(Self::Private),
            "here" => Ok(Self::Here),
            path => Ok(Self::Directory(PathBuf::from(path))),
        }
    }
}

impl<'de> serde::Deserialize<'de> for WorkspaceChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "private" => Ok(Self::Private),
            "here" => Ok(Self::Here),
            other => Err(serde::de::Error::custom(format!(
                "unknown workspace {other:?}; expected here or private"
            ))),
        }
    }
}
