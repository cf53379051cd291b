//! [`WorkspaceChoice`]: where the user wants the agent to work.

use std::path::PathBuf;

use serde::de::{Error, Unexpected};
use waterline::phrase;
use waterline::phrase::Phrase;

/// Where the user wants the agent to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceChoice {
    /// In a private workspace.
    Private,
    /// In the directory that the program was started in.
    Here,
    /// In another directory.
    Directory(PathBuf),
}

impl std::str::FromStr for WorkspaceChoice {
    type Err = Phrase;

    /// Parses `private`, `here` or the path of a directory.
    fn from_str(text: &str) -> Result<Self, Phrase> {
        match text {
            "" => Err(phrase!("empty-workspace", "expected here, private or a directory")),
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
            other => Err(D::Error::invalid_value(Unexpected::Str(other), &"here or private")),
        }
    }
}
