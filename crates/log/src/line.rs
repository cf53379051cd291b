//! The lines of an export: [`Log::export`](crate::Log::export) writes them and
//! [`Log::import`](crate::Log::import) reads them. They refer to messages by id, so a line means
//! the same in every log.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use waterline::history::Past;
use waterline::message::Role;
use waterline::plan::{Head, StoredSlot};

use crate::checkpoint::Checkpoint;
use crate::generation::Fold;
use crate::session::Document;
use crate::usage::Usage;

/// The version that is written. In version 1 a state was one document with everything in it
/// (`format_1.rs`).
pub(crate) const VERSION: u32 = 2;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Line {
    Waterline(u32),
    Message(Box<MessageLine>),
    Tools(Box<ToolsLine>),
    Session(Box<SessionLine>),
    Sent(Box<SentLine>),
    Generation(Box<GenerationLine>),
    Summary(Box<SummaryLine>),
    Checkpoint(Box<Checkpoint>),
    Usage(Box<UsageLine>),
    Artifact(Box<ArtifactLine>),
    Job(Box<JobLine>),
    Preference(PreferenceLine),
    /// The last line, with the number of sessions. An export without it is truncated.
    End(u64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MessageLine {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    pub(crate) role: Role,
    pub(crate) encoding: String,
    #[serde(flatten)]
    pub(crate) bytes: Bytes,
    pub(crate) tokens: usize,
    pub(crate) counter: String,
    pub(crate) time: i64,
}

/// Bytes: as text if they are UTF-8, else as Base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bytes {
    Text(String),
    Base64(String),
}

impl Bytes {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes)
            .map_or_else(|error| Self::Base64(STANDARD.encode(error.as_bytes())), Self::Text)
    }

    pub(crate) fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).ok(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToolsLine {
    pub(crate) hash: String,
    #[serde(flatten)]
    pub(crate) bytes: Bytes,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionLine {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tip: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    pub(crate) relation: String,
    pub(crate) context_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent_context: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) overrides: BTreeMap<String, String>,
    pub(crate) state: Document,
    /// The hash of its tool definitions, which are on an earlier line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<String>,
    pub(crate) created: i64,
    pub(crate) active: i64,
    /// The messages with clear marks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cuts: Vec<String>,
    /// The last messages of the branches that the session has left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SentLine {
    pub(crate) session: String,
    pub(crate) at: Option<String>,
    #[serde(default)]
    pub(crate) cleared: u64,
    pub(crate) head: Head,
    pub(crate) past: Past,
    pub(crate) slots: Vec<StoredSlot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fold: Option<Fold>,
    pub(crate) time: i64,
}

/// A fold without a stored request context: another program made it, or it was undone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GenerationLine {
    pub(crate) session: String,
    pub(crate) at: Option<String>,
    pub(crate) number: u64,
    pub(crate) time: i64,
    #[serde(flatten)]
    pub(crate) fold: Fold,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SummaryLine {
    pub(crate) session: String,
    pub(crate) version: u64,
    pub(crate) start: u64,
    pub(crate) until: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<u64>,
    pub(crate) text: String,
    pub(crate) tokens: usize,
    pub(crate) original_tokens: usize,
    pub(crate) time: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct UsageLine {
    pub(crate) session: String,
    pub(crate) number: u64,
    #[serde(flatten)]
    pub(crate) usage: Usage,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ArtifactLine {
    pub(crate) session: String,
    pub(crate) media: String,
    pub(crate) preview: String,
    pub(crate) time: i64,
    #[serde(flatten)]
    pub(crate) bytes: Bytes,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobLine {
    pub(crate) kind: String,
    pub(crate) session: Option<String>,
    pub(crate) payload: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PreferenceLine {
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) value: String,
}
