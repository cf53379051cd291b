//! What is wrong with a server. [`Display`](fmt::Display) writes English; a program in another
//! language matches on the variant.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use waterline::phrase::Phrase;

use crate::cause::Cause;

/// Why a server, or one of its tools, cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerProblem {
    /// The name of the server.
    pub server: String,
    /// What is wrong, with the names that a notice needs.
    pub kind: ServerProblemKind,
}

impl ServerProblem {
    /// Creates a problem of the server with this name.
    #[must_use]
    pub fn new(server: impl Into<String>, kind: ServerProblemKind) -> Self {
        Self { server: server.into(), kind }
    }
}

/// What is wrong with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerProblemKind {
    /// Its program cannot be started.
    Start {
        /// The program, as the config names it.
        program: String,
        /// The directory it should start in, if that does not exist.
        directory: Option<PathBuf>,
        /// The system's error.
        why: Cause,
    },
    /// A header of the configuration is invalid.
    Header(String),
    /// It cannot be reached, for this reason.
    Connect(Phrase),
    /// It exited or closed the connection before it answered.
    Closed,
    /// It cannot list its tools, for this reason.
    List(Phrase),
    /// It was not ready in time.
    Timeout(Duration),
    /// Its list of tools does not end.
    EndlessList,
    /// The definition of a tool is too large.
    LargeTool {
        /// The tool that is left out.
        tool: String,
        /// The largest size of a definition.
        kilobytes: usize,
    },
    /// It has too many tools, or their definitions are too large together.
    TooManyTools {
        /// How many were left out, at least.
        left_out: usize,
        /// Maximum number of tools of a server.
        most: usize,
        /// The largest size of their definitions.
        kilobytes: usize,
    },
    /// The configuration enables a tool that it does not have.
    NoTool(String),
}

impl ServerProblemKind {
    /// Adds the name of the server.
    pub(super) fn of(self, server: &str) -> ServerProblem {
        ServerProblem { server: server.to_owned(), kind: self }
    }
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.server;
        write!(f, "MCP server {server}: {}", self.kind)?;
        match self.kind {
            ServerProblemKind::EndlessList
            | ServerProblemKind::LargeTool { .. }
            | ServerProblemKind::TooManyTools { .. } => {
                write!(f, "; name the tools that you need in mcp.{server}.tools")
            }
            ServerProblemKind::NoTool(_) => write!(f, "; check mcp.{server}.tools"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ServerProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { program, directory: None, why } => {
                write!(f, "cannot start {program}: {why}")
            }
            Self::Start { program, directory: Some(directory), why } => {
                write!(f, "cannot start {program} in {}: {why}", directory.display())
            }
            Self::Header(name) => write!(f, "invalid name or value of the header {name:?}"),
            Self::Connect(why) => write!(f, "cannot connect: {why}"),
            Self::Closed => {
                f.write_str("cannot connect: it exited or closed the connection before it answered")
            }
            Self::List(why) => write!(f, "cannot list its tools: {why}"),
            Self::Timeout(after) => write!(f, "not ready after {after:?} (timeout)"),
            Self::EndlessList => f.write_str("its list of tools was not read to the end"),
            Self::LargeTool { tool, kilobytes } => {
                write!(f, "the definition of the tool {tool} is larger than {kilobytes} KB")
            }
            Self::TooManyTools { left_out, most, kilobytes } => {
                let tools = if *left_out == 1 { "tool was" } else { "tools were" };
                write!(
                    f,
                    "at least {left_out} {tools} left out; a server may have {most} tools and \
                     {kilobytes} KB of definitions"
                )
            }
            Self::NoTool(name) => write!(f, "it has no tool {name:?}"),
        }
    }
}
