//! A session as Markdown, in the chosen language.

use std::io::Write;
use std::sync::OnceLock;

use anyhow::Result;
use waterline::message::Body;
use waterline_agent::environment::without_notes;
use waterline_log::{Log, Session};
use waterline_provider::wire::parse_stored;
use waterline_transcript::write::{self, Heading, Labels};

use crate::text;

/// Writes a session without the program's notes; returns its number of messages.
pub fn markdown(out: &mut dyn Write, log: &Log, session: &Session) -> Result<u64> {
    let length = session.tip.position();
    let entries = log.entries_in(session.tip, 0..length)?;
    let count = log.numbering(session)?.count(length);
    let messages = text!("count-messages", count = count);
    let facts = [Some(session.id.as_str()), session.model.as_deref(), Some(messages.as_str())];
    let heading = Heading {
        title: if session.title.is_empty() { &session.id } else { &session.title },
        facts: facts.into_iter().flatten().collect(),
        labels: labels(),
    };
    let written = entries.iter().map(|entry| {
        let mut message = entry.message(parse_stored);
        for part in &mut message.parts {
            if let Body::Text(text) = &mut part.body {
                text.truncate(without_notes(text).len());
            }
        }
        message
    });
    write::markdown(out, &heading, written)?;
    Ok(count)
}

/// Returns the document's labels. They are static in the library, so they are made once.
fn labels() -> Labels {
    static LABELS: OnceLock<Labels> = OnceLock::new();
    *LABELS.get_or_init(|| Labels {
        user: text!("markdown-user").leak(),
        assistant: text!("markdown-assistant").leak(),
        image: text!("markdown-image").leak(),
        more_lines: |count| text!("markdown-more-lines", count = count),
    })
}
