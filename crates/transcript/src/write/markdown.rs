//! Writes a conversation as Markdown for people to read, without data that only programs need.

use std::io::{Result, Write};

use waterline::message::{Body, Message, Part, Role};

/// Maximum number of lines written of a tool result or an attached file.
const MAX_LINES: usize = 40;

/// The heading of a conversation, and the labels to use.
#[derive(Clone, Debug)]
pub struct Heading<'a> {
    /// The first line of the document.
    pub title: &'a str,
    /// Facts below the title: id, model, number of messages.
    pub facts: Vec<&'a str>,
    /// The labels in the language of the document.
    pub labels: Labels,
}

/// The labels of a document, in one language.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// The heading above the user's messages.
    pub user: &'static str,
    /// The heading above the model's messages.
    pub assistant: &'static str,
    /// The label of an image.
    pub image: &'static str,
    /// The text for a number of omitted lines.
    pub more_lines: fn(usize) -> String,
}

impl Labels {
    /// The English labels.
    pub const ENGLISH: Self = Self {
        user: "User",
        assistant: "Assistant",
        image: "image",
        more_lines: english_more_lines,
    };
}

fn english_more_lines(count: usize) -> String {
    let unit = if count == 1 { "line" } else { "lines" };
    format!("… {count} more {unit}")
}

/// Writes a conversation. Control characters are replaced, because the text may be shown on a
/// terminal.
///
/// # Errors
/// When `out` cannot be written.
pub fn markdown(
    out: &mut dyn Write,
    heading: &Heading<'_>,
    messages: impl IntoIterator<Item = Message>,
) -> Result<()> {
    let facts: Vec<String> = heading.facts.iter().map(|fact| one_line(fact)).collect();
    writeln!(out, "# {}\n\n*{}*\n", one_line(heading.title), facts.join(" · "))?;
    let labels = &heading.labels;
    let mut speaker = None;
    for message in messages {
        // The system prompt is not part of the conversation.
        let Some(name) = name(message.role, labels) else { continue };
        if speaker.replace(name) != Some(name) {
            writeln!(out, "## {name}\n")?;
        }
        write_message(out, &message, labels)?;
    }
    Ok(())
}

/// Returns the heading for a role. A tool result belongs to the model that called the tool.
fn name(role: Role, labels: &Labels) -> Option<&'static str> {
    match role {
        Role::System => None,
        Role::User => Some(labels.user),
        Role::Assistant | Role::Tool => Some(labels.assistant),
    }
}

fn write_message(out: &mut dyn Write, message: &Message, labels: &Labels) -> Result<()> {
    let mut texts = 0;
    for part in &message.parts {
        match &part.body {
            Body::Text(text) if text.trim().is_empty() => {}
            // A user's further texts are attached files and notes.
            Body::Text(text) if message.role == Role::User && texts > 0 => {
                fenced(out, text, labels)?
            }
            Body::Text(text) => {
                texts += 1;
                writeln!(out, "{}\n", clean(text).trim_end())?;
            }
            Body::Image(_) => writeln!(out, "*({})*\n", labels.image)?,
            Body::Call(call) => {
                writeln!(out, "**{}**\n", one_line(&call.name))?;
                fenced(out, &call.arguments, labels)?;
            }
            Body::Result(result) => {
                fenced(out, &result.text(), labels)?;
                if result.parts.iter().any(is_image) {
                    writeln!(out, "*({})*\n", labels.image)?;
                }
            }
            // Thinking is not part of the answer.
            Body::Thinking(_) | Body::Opaque(_) => {}
        }
    }
    Ok(())
}

fn is_image(part: &Part) -> bool {
    matches!(part.body, Body::Image(_))
}

/// Writes a text between fences that it does not contain, truncated if it is long.
fn fenced(out: &mut dyn Write, text: &str, labels: &Labels) -> Result<()> {
    let text = clean(text);
    let longest = text.split(|c: char| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}text")?;
    for line in text.trim_end().lines().take(MAX_LINES) {
        writeln!(out, "{line}")?;
    }
    let more = text.trim_end().lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        writeln!(out, "{}", (labels.more_lines)(more))?;
    }
    writeln!(out, "{fence}\n")?;
    Ok(())
}

/// Replaces characters that would control a terminal or change the text direction.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { printable(c) }).collect()
}

/// Like [`clean`], but also replaces line breaks and tabs.
fn one_line(text: &str) -> String {
    text.chars().map(printable).collect()
}

fn printable(c: char) -> char {
    let is_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    if c.is_control() || is_direction { '\u{FFFD}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_text_cannot_end_the_fence() {
        let mut out = Vec::new();
        fenced(&mut out, "a\n```\nb\u{1b}[2J\n", &Labels::ENGLISH).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "````text\na\n```\nb\u{FFFD}[2J\n````\n\n");
    }
}
