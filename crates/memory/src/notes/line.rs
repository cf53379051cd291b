//! One line of `MEMORY.md`: a fact, and in a comment that Markdown does not show, where it is from.
//!
//! ```text
//! - The staging database is on port 5433. <!-- 2026-11-16 session 8ecab05f message 12 -->
//! ```
//!
//! A line that a person wrote has no comment.

use std::fmt;

/// Where a fact is from: a message of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The id of the session.
    pub session: String,
    /// The number of the message in it, from 1.
    pub message: u64,
}

impl Source {
    /// Creates the source of a fact.
    #[must_use]
    pub fn new(session: impl Into<String>, message: u64) -> Self {
        Self { session: session.into(), message }
    }
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The fact, without line breaks.
    pub text: String,
    /// The day it was written, as `YYYY-MM-DD`; empty if a person wrote the line.
    pub day: String,
    /// The message it is from, if it is known.
    pub source: Option<Source>,
}

const OPEN: &str = "<!-- ";
const CLOSE: &str = " -->";

impl Line {
    /// Creates a line. Line breaks and what Markdown or the comment would read as markup are
    /// replaced, so that a text cannot become a heading or another line.
    #[must_use]
    pub fn new(text: &str, day: &str, source: Option<Source>) -> Self {
        let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let without_comments = one_line.replace("<!--", "<! --").replace("-->", "-- >");
        let fact = without_comments.trim_start_matches(['#', '-', '*', '~', ' ']).trim_end();
        Self { text: fact.to_owned(), day: day.to_owned(), source }
    }

    /// Reads a bullet of a file. Returns nothing for other lines.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let bullet = line.trim().strip_prefix("- ").or_else(|| line.trim().strip_prefix("* "))?;
        let (text, comment) = match bullet.rsplit_once(OPEN) {
            Some((text, comment)) => (text, comment.strip_suffix(CLOSE)),
            None => (bullet, None),
        };
        let (day, source) = comment.map_or((String::new(), None), read_comment);
        let text = if comment.is_some() { text } else { bullet };
        Some(Self { text: text.trim().to_owned(), day, source })
            .filter(|line| !line.text.is_empty())
    }
}

fn read_comment(comment: &str) -> (String, Option<Source>) {
    let words: Vec<&str> = comment.split(' ').collect();
    match words.as_slice() {
        [day, "session", session, "message", message] => {
            let source = message
                .parse()
                .ok()
                .map(|message| Source { session: (*session).to_owned(), message });
            ((*day).to_owned(), source)
        }
        [day, ..] => ((*day).to_owned(), None),
        [] => (String::new(), None),
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- {}", self.text)?;
        match &self.source {
            _ if self.day.is_empty() => Ok(()),
            Some(Source { session, message }) => {
                write!(f, " {OPEN}{} session {session} message {message}{CLOSE}", self.day)
            }
            None => write!(f, " {OPEN}{}{CLOSE}", self.day),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_read_as_it_was_written() {
        let source = Source { session: "8ecab05f".to_owned(), message: 12 };
        for line in [
            Line::new("The staging database is on port 5433.", "2026-11-16", Some(source)),
            Line::new("written by hand", "", None),
            Line::new("without a source", "2026-11-16", None),
        ] {
            assert_eq!(Line::parse(&line.to_string()), Some(line));
        }
    }

    #[test]
    fn text_cannot_become_markup() {
        let line = Line::new("# Rules\n- one --> <!-- x", "2026-11-16", None);
        assert_eq!(line.to_string(), "- Rules - one -- > <! -- x <!-- 2026-11-16 -->");
    }

    #[test]
    fn other_lines_are_not_facts() {
        for line in ["# Memory", "", "plain text", "- ", "-no space"] {
            assert_eq!(Line::parse(line), None, "{line}");
        }
        assert_eq!(Line::parse("* a star").unwrap().text, "a star");
    }
}
