//! The JSON forms of the log's types. Programs read them, so they are stable: times are UTC to the
//! second, ids and enum values are strings, and a session has a message count instead of a tip.

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use waterline::phrase::Phrase;
use waterline::reason::Reasons;

use crate::difference::{Difference, Side};
use crate::entry::Entry;
use crate::erase::EraseReport;
use crate::generation::Generation;
use crate::navigate::Branch;
use crate::search::Hit;
use crate::session::{Relation, Session};
use crate::stats::Stats;
use crate::summary::Summary;
use crate::verify::Verified;

/// Formats milliseconds since 1970 as UTC time, to the second.
#[must_use]
pub fn utc(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1_000);
    Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

impl Serialize for Relation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Session {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            id: &'a str,
            title: &'a str,
            user: Option<&'a str>,
            parent: Option<&'a str>,
            relation: Relation,
            context_id: &'a str,
            parent_context: Option<&'a str>,
            model: Option<&'a str>,
            policy: Option<&'a str>,
            overrides: &'a std::collections::BTreeMap<String, String>,
            messages: u64,
            created: String,
            active: String,
        }
        let shape = Shape {
            id: &self.id,
            title: &self.title,
            user: self.user.as_deref(),
            parent: self.parent.as_deref(),
            relation: self.relation,
            context_id: &self.context_id,
            parent_context: self.parent_context.as_deref(),
            model: self.model.as_deref(),
            policy: self.policy.as_deref(),
            overrides: &self.overrides,
            messages: self.tip.position(),
            created: utc(self.created),
            active: utc(self.active),
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            position: u64,
            id: String,
            role: &'a str,
            encoding: &'a str,
            tokens: usize,
            time: String,
            raw: &'a str,
        }
        let shape = Shape {
            position: self.position,
            id: self.id.to_string(),
            role: self.role.name(),
            encoding: self.encoding.name(),
            tokens: self.tokens,
            time: utc(self.time),
            raw: &String::from_utf8_lossy(&self.bytes),
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Hit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            session: Option<&'a str>,
            position: u64,
            id: String,
            role: &'a str,
            time: String,
            score: u32,
            #[serde(skip_serializing_if = "Option::is_none")]
            artifact: Option<&'a str>,
            raw: &'a str,
        }
        let shape = Shape {
            session: self.session.as_deref(),
            position: self.entry.position,
            id: self.entry.id.to_string(),
            role: self.entry.role.name(),
            time: utc(self.entry.time),
            score: self.score,
            artifact: self.artifact.as_ref().map(|artifact| artifact.hash.as_str()),
            raw: &String::from_utf8_lossy(&self.entry.bytes),
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Generation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            number: u64,
            position: u64,
            reason: String,
            reasons: &'a Reasons,
            tokens_before: usize,
            tokens_after: usize,
            cost_before: Option<i64>,
            cost_after: Option<i64>,
            time: String,
            is_current: bool,
        }
        let shape = Shape {
            number: self.number,
            position: self.position,
            reason: self.fold.reasons.to_string(),
            reasons: &self.fold.reasons,
            tokens_before: self.fold.tokens_before,
            tokens_after: self.fold.tokens_after,
            cost_before: self.fold.cost_before,
            cost_after: self.fold.cost_after,
            time: utc(self.time),
            is_current: self.is_current,
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            version: u64,
            summary: &'a str,
            summarized_from: u64,
            summarized_until: u64,
            summary_tokens: usize,
            original_tokens: usize,
            message_count: u64,
            compression_rate: f64,
            created_at: String,
        }
        let shape = Shape {
            version: self.version,
            summary: &self.text,
            summarized_from: self.start,
            summarized_until: self.until,
            summary_tokens: self.tokens,
            original_tokens: self.original_tokens,
            message_count: self.messages(),
            compression_rate: self.compression_rate(),
            created_at: utc(self.time),
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Branch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape {
            id: Option<String>,
            messages: u64,
            shared: u64,
            is_current: bool,
        }
        let shape = Shape {
            id: self.id.map(|id| id.to_string()),
            messages: self.tip.position(),
            shared: self.shared,
            is_current: self.is_current,
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Verified {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            messages: u64,
            sessions: u64,
            artifacts: u64,
            problems: Vec<&'a str>,
        }
        let shape = Shape {
            messages: self.messages,
            sessions: self.sessions,
            artifacts: self.artifacts,
            problems: self.problems.iter().map(Phrase::as_str).collect(),
        };
        shape.serialize(serializer)
    }
}

/// Workspaces are left out: the log does not delete them, so only the caller knows what became of
/// them.
impl Serialize for EraseReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            sessions: &'a [String],
            messages: u64,
            bytes: u64,
            shared: u64,
            contexts: u64,
            rows: &'a std::collections::BTreeMap<&'static str, u64>,
            is_clean: bool,
        }
        let shape = Shape {
            sessions: &self.sessions,
            messages: self.messages,
            bytes: self.bytes,
            shared: self.shared,
            contexts: self.contexts,
            rows: &self.rows,
            is_clean: self.is_clean,
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Difference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a> {
            shared: u64,
            left: &'a Side,
            right: &'a Side,
        }
        let shape = Shape { shared: self.shared, left: &self.left, right: &self.right };
        shape.serialize(serializer)
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            position: u64,
            id: String,
            role: &'a str,
            raw: &'a str,
        }
        #[derive(Serialize)]
        struct Shape<'a> {
            session: &'a str,
            messages: u64,
            entries: Vec<Line<'a>>,
        }
        let texts: Vec<_> =
            self.entries.iter().map(|entry| String::from_utf8_lossy(&entry.bytes)).collect();
        let entries = self.entries.iter().zip(&texts).map(|(entry, raw)| Line {
            position: entry.position,
            id: entry.id.to_string(),
            role: entry.role.name(),
            raw,
        });
        let shape = Shape {
            session: &self.session.id,
            messages: self.session.tip.position(),
            entries: entries.collect(),
        };
        shape.serialize(serializer)
    }
}

impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [input, cache_read, cache_write] = self.prompt;
        let fields = [
            ("sessions", self.sessions),
            ("users", self.users),
            ("messages", self.messages),
            ("prompts", self.prompts),
            ("contents", self.contents),
            ("branches", self.branches),
            ("tokens", self.tokens),
            ("message_bytes", self.message_bytes),
            ("stored_bytes", self.stored_bytes),
            ("database_bytes", self.database_bytes),
            ("generations", self.generations),
            ("summaries", self.summaries),
            ("checkpoints", self.checkpoints),
            ("artifacts", self.artifacts),
            ("artifact_bytes", self.artifact_bytes),
            ("file_versions", self.file_versions),
            ("file_version_bytes", self.file_version_bytes),
            ("calls", self.calls),
            ("input", input),
            ("cache_read", cache_read),
            ("cache_write", cache_write),
            ("output", self.output),
            ("price", self.price),
            ("jobs", self.jobs),
            ("failed_jobs", self.failed_jobs),
        ];
        serializer.collect_map(fields)
    }
}
