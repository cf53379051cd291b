//! A session for people to read: Markdown, without what only programs need.

use std::io::Write;

use anyhow::Result;
use waterline::message::{Body, Message, Part, Role};
use waterline_log::{Log, Session};

use super::{count_of, lines, plain};
use crate::lang::say;
use crate::stored;

/// How many lines are shown of what a tool gave, or of a file that was said with a message.
const LINES: usize = 40;

/// Writes a session; gives how many messages it has.
pub fn transcript(out: &mut dyn Write, log: &Log, session: &Session) -> Result<u64> {
    let entries = log.entries_in(session.tip, 0..session.tip.position())?;
    head(out, session)?;
    let mut speaker = None;
    for message in entries.iter().map(|entry| entry.message(stored::parse)) {
        // The prompt is the program's, not part of what was said.
        let Some(name) = name(message.role) else { continue };
        if speaker.replace(name) != Some(name) {
            writeln!(out, "## {name}\n")?;
        }
        said(out, &message)?;
    }
    Ok(session.tip.position())
}

fn head(out: &mut dyn Write, session: &Session) -> Result<()> {
    let title = if session.title.is_empty() { &session.id } else { &session.title };
    let messages = say(count_of(session.tip.position(), "message"), format!("{} 条消息", session.tip.position()));
    let facts = [Some(session.id.as_str()), session.model.as_deref(), Some(messages.as_str())];
    let facts: Vec<String> = facts.into_iter().flatten().map(plain).collect();
    writeln!(out, "# {}\n\n*{}*\n", plain(title), facts.join(" · "))?;
    Ok(())
}

/// Who speaks. What tools give belongs to the turn of the model that called them.
fn name(role: Role) -> Option<&'static str> {
    match role {
        Role::System => None,
        Role::User => Some(say("User", "用户")),
        Role::Assistant | Role::Tool => Some(say("Assistant", "助手")),
    }
}

fn said(out: &mut dyn Write, message: &Message) -> Result<()> {
    let mut words = 0;
    for part in &message.parts {
        match &part.body {
            Body::Text(text) if text.trim().is_empty() => {}
            // Behind the words of a person stand files that were taken along, and notes.
            Body::Text(text) if message.role == Role::User && words > 0 => fenced(out, text)?,
            Body::Text(text) => {
                words += 1;
                writeln!(out, "{}\n", clean(text).trim_end())?;
            }
            Body::Image(_) => writeln!(out, "*({})*\n", say("picture", "图片"))?,
            Body::Call(call) => {
                writeln!(out, "**{}**\n", plain(&call.name))?;
                fenced(out, &call.arguments)?;
            }
            Body::Result(result) => {
                fenced(out, &result.text())?;
                if result.parts.iter().any(is_picture) {
                    writeln!(out, "*({})*\n", say("picture", "图片"))?;
                }
            }
            // What a model thought is not what it said.
            Body::Thinking(_) | Body::Opaque(_) => {}
        }
    }
    Ok(())
}

fn is_picture(part: &Part) -> bool {
    matches!(part.body, Body::Image(_))
}

/// A text between fences, of which none stands in it; of a long one the beginning.
fn fenced(out: &mut dyn Write, text: &str) -> Result<()> {
    let text = clean(text);
    let longest = text.split(|c: char| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}text")?;
    for line in text.trim_end().lines().take(LINES) {
        writeln!(out, "{line}")?;
    }
    let more = text.trim_end().lines().count().saturating_sub(LINES);
    if more > 0 {
        writeln!(out, "{}", say(format!("… {more} more lines"), format!("… 另有 {more} 行")))?;
    }
    writeln!(out, "{fence}\n")?;
    Ok(())
}

/// A text that does not steer the terminal it may be shown on.
fn clean(text: &str) -> String {
    lines(&text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_fences_cannot_end_them() {
        let mut out = Vec::new();
        fenced(&mut out, "a\n```\nb\u{1b}[2J\n").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "````text\na\n```\nb\u{FFFD}[2J\n````\n\n");
    }
}
