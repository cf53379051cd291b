//! A session as Markdown, in the chosen language.

use std::io::Write;
use std::sync::OnceLock;

use anyhow::Result;
use waterline_log::{Log, Session};
use waterline_provider::wire::parse_stored;
use waterline_transcript::write::{self, Heading, Words};

use crate::text;

/// Writes a session; returns its number of messages.
pub fn markdown(out: &mut dyn Write, log: &Log, session: &Session) -> Result<u64> {
    let length = session.tip.position();
    let entries = log.entries_in(session.tip, 0..length)?;
    let messages = text!("count-messages", count = length);
    let facts = [Some(session.id.as_str()), session.model.as_deref(), Some(messages.as_str())];
    let heading = Heading {
        title: if session.title.is_empty() { &session.id } else { &session.title },
        facts: facts.into_iter().flatten().collect(),
        words: words(),
    };
    write::markdown(out, &heading, entries.iter().map(|entry| entry.message(parse_stored)))?;
    Ok(length)
}

/// Returns the document's labels. They are static in the library, so they are made once.
fn words() -> Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    *WORDS.get_or_init(|| Words {
        user: text!("markdown-user").leak(),
        assistant: text!("markdown-assistant").leak(),
        image: text!("markdown-image").leak(),
        more_lines: (text!("markdown-before-count").leak(), text!("markdown-after-count").leak()),
    })
}
