//! A session as Markdown, in the chosen language.

use std::io::Write;

use anyhow::Result;
use waterline_log::{Log, Session};
use waterline_provider::wire::parse_stored;
use waterline_transcript::write::{self, Heading, Words};

use super::count_of;
use crate::lang::say;

/// The words of a document in Chinese.
const CHINESE: Words =
    Words {
        user: "用户", assistant: "助手", image: "图片", more_lines: ("… 另有 ", " 行")
    };

/// Writes a session; returns how many messages it has.
pub fn markdown(out: &mut dyn Write, log: &Log, session: &Session) -> Result<u64> {
    let length = session.tip.position();
    let entries = log.entries_in(session.tip, 0..length)?;
    let messages = say(count_of(length, "message"), format!("{length} 条消息"));
    let facts = [Some(session.id.as_str()), session.model.as_deref(), Some(messages.as_str())];
    let heading = Heading {
        title: if session.title.is_empty() { &session.id } else { &session.title },
        facts: facts.into_iter().flatten().collect(),
        words: say(Words::ENGLISH, CHINESE),
    };
    write::markdown(out, &heading, entries.iter().map(|entry| entry.message(parse_stored)))?;
    Ok(length)
}
