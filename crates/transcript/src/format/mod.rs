//! The formats, one file each. A new format is a new file and a line in one of the lists below.

pub(crate) mod agents_sqlite;
mod atif;
mod claude_code;
mod codex;
mod copilot;
mod gemini_cli;
mod langgraph;
mod letta;
mod opencode;
mod parts;
mod pi;
mod wire;

use std::sync::Arc;

use waterline::json::Fields;
use waterline::phrase::Phrase;

use crate::transcript::Transcript;

pub(crate) use wire::NAME as MESSAGES;

/// A format that is read line by line.
pub(crate) trait Lines {
    /// The name of the format.
    fn name(&self) -> &'static str;

    /// Reads one line and returns the transcripts that it completes, or why the line is invalid.
    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, Phrase>;

    /// Returns the transcripts that are complete after the last line.
    fn finish(self: Box<Self>) -> Vec<Transcript>;
}

/// Recognizes a format by one of its lines.
type Recognize = fn(&Fields<'_>) -> Option<Box<dyn Lines>>;

/// Line formats, those with the most distinctive lines first.
const LINES: &[Recognize] = &[
    atif::lines,
    claude_code::lines,
    codex::lines,
    copilot::lines,
    gemini_cli::lines,
    pi::lines,
    wire::lines,
];

/// Reads a document if it has this format.
type Document = fn(&Fields<'_>, &Arc<String>) -> Option<Result<Vec<Transcript>, Phrase>>;

/// Document formats.
const DOCUMENTS: &[(&str, Document)] = &[
    (atif::NAME, atif::document),
    (gemini_cli::NAME, gemini_cli::document),
    (opencode::NAME, opencode::document),
    (letta::NAME, letta::document),
    (langgraph::NAME, langgraph::document),
];

/// Returns the format that recognizes a line.
pub(crate) fn lines(line: &str) -> Option<Box<dyn Lines>> {
    if line.starts_with('[') {
        return wire::list_lines(line);
    }
    let fields = Fields::parse(line)?;
    LINES.iter().find_map(|recognize| recognize(&fields))
}

/// Reads a document of any format. Returns the name of the format and the transcripts.
pub(crate) fn document(text: &Arc<String>) -> Result<(&'static str, Vec<Transcript>), Phrase> {
    let fields = Fields::parse(text).unwrap_or_default();
    let known =
        DOCUMENTS.iter().find_map(|(name, document)| Some((*name, document(&fields, text)?)));
    match known {
        Some((name, found)) => Ok((name, found?)),
        None => single_line(text)
            .map_or_else(|| wire::document(text), |(name, found)| Ok((name, found?))),
    }
}

/// Reads a session file with only one line, which looks like a document.
fn single_line(text: &Arc<String>) -> Option<(&'static str, Result<Vec<Transcript>, Phrase>)> {
    let mut lines = lines(text.trim_end()).filter(|lines| lines.name() != MESSAGES)?;
    let name = lines.name();
    let found = lines.line(text).map(|mut found| {
        found.extend(lines.finish());
        found
    });
    Some((name, found))
}

/// Returns the name of a document's format. A document of no other format may be a message list.
pub(crate) fn document_name(text: &Arc<String>) -> &'static str {
    let fields = Fields::parse(text).unwrap_or_default();
    let known = DOCUMENTS.iter().find(|(_, document)| document(&fields, text).is_some());
    known.map_or_else(|| single_line(text).map_or(wire::NAME, |(name, _)| name), |(name, _)| name)
}

/// Returns the names of all formats, separated by commas.
pub(crate) fn names() -> String {
    let lines =
        [claude_code::NAME, codex::NAME, copilot::NAME, pi::NAME, wire::NAME, agents_sqlite::NAME];
    let documents = DOCUMENTS.iter().map(|(name, _)| *name);
    lines.into_iter().chain(documents).collect::<Vec<_>>().join(", ")
}
