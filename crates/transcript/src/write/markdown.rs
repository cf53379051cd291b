//! A conversation as Markdown for people to read, without what only programs need.

use std::io::{Result, Write};

use waterline::message::{Body, Message, Part, Role};

/// How many lines are written of a tool result, or of a file that was attached to a message.
const LINES: usize = 40;

/// What is written above a conversation, and the words of its language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading<'a> {
    /// The title.
    pub title: &'a str,
    /// Facts below it: id, model, number of messages.
    pub facts: Vec<&'a str>,
    /// The words of its language.
    pub words: Words,
}

/// The words that a document has of its own, in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// Above what the user said.
    pub user: &'static str,
    /// Above what the model said.
    pub assistant: &'static str,
    /// For an image.
    pub image: &'static str,
    /// Before and after a number of lines that are left out.
    pub more_lines: (&'static str, &'static str),
}

impl Words {
    /// English.
    pub const ENGLISH: Self = Self {
        user: "User",
        assistant: "Assistant",
        image: "image",
        more_lines: ("… ", " more lines"),
    };
}

/// Writes a conversation. Control characters are replaced: the text may be shown on a terminal.
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
    let words = &heading.words;
    let mut speaker = None;
    for message in messages {
        // The system prompt is the program's, and not part of the conversation.
        let Some(name) = name(message.role, words) else { continue };
        if speaker.replace(name) != Some(name) {
            writeln!(out, "## {name}\n")?;
        }
        write_message(out, &message, words)?;
    }
    Ok(())
}

/// Who speaks. A tool result belongs to the turn of the model that called the tool.
fn name(role: Role, words: &Words) -> Option<&'static str> {
    match role {
        Role::System => None,
        Role::User => Some(words.user),
        Role::Assistant | Role::Tool => Some(words.assistant),
    }
}

fn write_message(out: &mut dyn Write, message: &Message, words: &Words) -> Result<()> {
    let mut texts = 0;
    for part in &message.parts {
        match &part.body {
            Body::Text(text) if text.trim().is_empty() => {}
            // After the words of a person come attached files and notes.
            Body::Text(text) if message.role == Role::User && texts > 0 => {
                fenced(out, text, words)?
            }
            Body::Text(text) => {
                texts += 1;
                writeln!(out, "{}\n", clean(text).trim_end())?;
            }
            Body::Image(_) => writeln!(out, "*({})*\n", words.image)?,
            Body::Call(call) => {
                writeln!(out, "**{}**\n", one_line(&call.name))?;
                fenced(out, &call.arguments, words)?;
            }
            Body::Result(result) => {
                fenced(out, &result.text(), words)?;
                if result.parts.iter().any(is_image) {
                    writeln!(out, "*({})*\n", words.image)?;
                }
            }
            // Thinking is not part of what the model said.
            Body::Thinking(_) | Body::Opaque(_) => {}
        }
    }
    Ok(())
}

fn is_image(part: &Part) -> bool {
    matches!(part.body, Body::Image(_))
}

/// Writes a text between fences that it does not contain; of a long one the beginning.
fn fenced(out: &mut dyn Write, text: &str, words: &Words) -> Result<()> {
    let text = clean(text);
    let longest = text.split(|c: char| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}text")?;
    for line in text.trim_end().lines().take(LINES) {
        writeln!(out, "{line}")?;
    }
    let more = text.trim_end().lines().count().saturating_sub(LINES);
    if more > 0 {
        let (before, after) = words.more_lines;
        writeln!(out, "{before}{more}{after}")?;
    }
    writeln!(out, "{fence}\n")?;
    Ok(())
}

/// A text without characters that would control a terminal or reverse the order of others.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// The same on one line.
fn one_line(text: &str) -> String {
    text.chars().map(shown).collect()
}

fn shown(c: char) -> char {
    let is_direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || is_direction { '\u{FFFD}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_fences_cannot_end_them() {
        let mut out = Vec::new();
        fenced(&mut out, "a\n```\nb\u{1b}[2J\n", &Words::ENGLISH).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "````text\na\n```\nb\u{FFFD}[2J\n````\n\n");
    }
}
