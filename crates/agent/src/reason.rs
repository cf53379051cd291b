//! Why calls need approval and why turns end, as data. [`Display`](fmt::Display) writes English; a
//! program in another language matches on the variant.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use waterline::phrase::Phrase;

/// The risk of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Harmless, or easy to undo.
    Low,
    /// Takes work to undo.
    Medium,
    /// Cannot be undone.
    High,
    /// Can destroy the whole system.
    Critical,
}

impl Risk {
    /// Returns the name, as in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// Why a call needs approval. It is stored as its English text and read as
/// [`ApprovalReason::Other`]: a call that still waits is decided again when its turn is resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum ApprovalReason {
    /// The mode requires approval of every call.
    EveryCall,
    /// One of the user's rules requires it.
    Rule,
    /// The call has a risk.
    Risk {
        /// How high it is.
        level: Risk,
        /// What is risky.
        cause: RiskCause,
    },
    /// The call is the first that changes files in these directories.
    FirstChange(Vec<PathBuf>),
    /// The command can change files in these directories.
    CommandChange(Vec<PathBuf>),
    /// Another reason, such as that of a middleware.
    Other(String),
}

/// What makes a call risky.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RiskCause {
    /// The call matches a risk pattern.
    Pattern {
        /// The name of the risk, which does not change when the text does.
        id: String,
        /// What such a call does, in English.
        about: String,
    },
    /// The command cannot be parsed completely.
    Unparsed,
    /// The kernel does not confine commands on this system.
    Unsandboxed,
    /// The call changes these protected paths.
    Protected(Vec<String>),
    /// The command changes what git stores about a repository, but not its settings and hooks.
    Repository,
    /// The call stays in the agent's directories.
    OwnDirectories,
    /// The command is sandboxed.
    Sandboxed,
    /// The call uses the network.
    Network,
    /// Another role takes over.
    HandOff,
    /// The call only asks the user.
    AsksUser,
    /// A sub-agent does the work, under the same rules.
    Delegates,
}

impl fmt::Display for ApprovalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EveryCall => f.write_str("every call needs approval"),
            Self::Rule => f.write_str("one of your rules requires approval"),
            Self::Risk { level, cause } => write!(f, "{} risk: {cause}", level.name()),
            Self::FirstChange(paths) => {
                write!(f, "it is the first change of a file in {}", join(paths))
            }
            Self::CommandChange(paths) => write!(f, "commands can change files in {}", join(paths)),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for RiskCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pattern { about, .. } => about,
            Self::Unparsed => "it cannot be parsed completely as a shell script",
            Self::Unsandboxed => "commands are not sandboxed on this system",
            Self::Protected(paths) => {
                return write!(
                    f,
                    "it changes a file that programs run or read automatically: {}",
                    paths.join(", ")
                );
            }
            Self::Repository => "it changes the git repository: commits, branches or the index",
            Self::OwnDirectories => "it stays in the agent's directories",
            Self::Sandboxed => "the command is sandboxed",
            Self::Network => "it connects to a server or the network",
            Self::HandOff => "another role takes over",
            Self::AsksUser => "it only asks the user",
            Self::Delegates => "the sub-agent follows the same rules",
        })
    }
}

/// Lists paths for people.
fn join(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    shown.join(", ")
}

impl From<String> for ApprovalReason {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for ApprovalReason {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

impl From<ApprovalReason> for String {
    fn from(reason: ApprovalReason) -> Self {
        reason.to_string()
    }
}

/// Why a turn ended before the model was done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The limit of model calls per turn was reached.
    TurnCalls(u64),
    /// The limit of model calls since the session was opened was reached.
    SessionCalls(u64),
    /// The limit of model calls for the task of a sub-agent was reached.
    TaskCalls(u64),
    /// The limit of tool calls per turn was reached.
    ToolCalls(u64),
    /// The time limit of a turn was reached.
    Time(Duration),
    /// The answer hit the output token limit this many times.
    OutputTokens(u64),
    /// A tool was called repeatedly with the same arguments.
    SameCall {
        /// The name of the tool.
        tool: String,
        /// Calls in a row.
        times: u64,
    },
    /// A tool failed or was refused repeatedly.
    Unsuccessful {
        /// The name of the tool.
        tool: String,
        /// Calls in a row.
        times: u64,
    },
    /// The model or a content filter refused to answer.
    Refused,
    /// The model returned an empty answer twice.
    EmptyAnswer,
    /// The model hit the output token limit twice before any answer text.
    NoAnswerText,
    /// The answer does not match the required schema, for this reason.
    Schema(Phrase),
    /// An action of a middleware was not approved.
    NotApproved(ApprovalReason),
    /// The message contains personal data, which the middleware `pii` blocks.
    PersonalData,
    /// Another reason, such as that of an application's own middleware.
    Other(String),
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TurnCalls(most) => {
                let calls = counted(*most, "model call");
                write!(f, "the limit of {calls} per turn was reached")
            }
            Self::SessionCalls(most) => {
                let calls = counted(*most, "model call");
                write!(f, "the limit of {calls} since the session was opened was reached")
            }
            Self::TaskCalls(most) => {
                let calls = counted(*most, "model call");
                write!(f, "the limit of {calls} for this task was reached")
            }
            Self::ToolCalls(most) => {
                let calls = counted(*most, "tool call");
                write!(f, "the limit of {calls} per turn was reached")
            }
            Self::Time(most) => {
                write!(f, "the time limit of {} s per turn was reached", most.as_secs())
            }
            Self::OutputTokens(times) => write!(
                f,
                "the answer hit the output token limit {} and is incomplete; increase max_tokens",
                counted(*times, "time")
            ),
            Self::SameCall { tool, times } => {
                let times = counted(*times, "time");
                write!(f, "{tool} was called {times} in a row with the same arguments")
            }
            Self::Unsuccessful { tool, times } => {
                let times = counted(*times, "time");
                write!(f, "{tool} failed or was refused {times} in a row")
            }
            Self::Refused => {
                f.write_str("the model or a content filter of its provider refused to answer")
            }
            Self::EmptyAnswer => f.write_str(
                "the model returned an empty answer twice; rephrase the message or use another \
                 model",
            ),
            Self::NoAnswerText => f.write_str(
                "the model hit the output token limit twice before any answer text; increase \
                 max_tokens",
            ),
            Self::Schema(why) => {
                write!(f, "the answer does not match the required schema: {why}")
            }
            Self::NotApproved(reason) => write!(f, "not approved: {reason}"),
            Self::PersonalData => {
                f.write_str("the message contains personal data, which the middleware pii blocks")
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// Writes a number with its unit, in the singular or the plural.
pub(crate) fn counted(number: u64, unit: &str) -> String {
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

impl From<String> for EndReason {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for EndReason {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}
