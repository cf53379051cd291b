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

use crate::transcript::Transcript;

pub(crate) use wire::NAME as MESSAGES;

/// A file of lines, taken in one line after the other.
pub(crate) trait Lines {
    /// The name of the format.
    fn name(&self) -> &'static str;

    /// Takes in one line; hands over the transcripts that it completes. An error is what is wrong
    /// with it.
    fn line(&mut self, text: &Arc<String>) -> Result<Vec<Transcript>, String>;

    /// What is complete when there are no more lines.
    fn finish(self: Box<Self>) -> Vec<Transcript>;
}

/// Knows a format by one of its lines.
type Recognise = fn(&Fields<'_>) -> Option<Box<dyn Lines>>;

/// Formats of lines, those with the most telling lines first.
const LINES: &[Recognise] = &[
    atif::lines,
    claude_code::lines,
    codex::lines,
    copilot::lines,
    gemini_cli::lines,
    pi::lines,
    wire::lines,
];

/// Reads a document, if it is of this format.
type Document = fn(&Fields<'_>, &Arc<String>) -> Option<Result<Vec<Transcript>, String>>;

/// Formats of whole documents.
const DOCUMENTS: &[(&str, Document)] = &[
    (atif::NAME, atif::document),
    (gemini_cli::NAME, gemini_cli::document),
    (opencode::NAME, opencode::document),
    (letta::NAME, letta::document),
    (langgraph::NAME, langgraph::document),
];

/// The format that knows this line.
pub(crate) fn lines(line: &str) -> Option<Box<dyn Lines>> {
    if line.starts_with('[') {
        return wire::list_lines(line);
    }
    let fields = Fields::parse(line)?;
    LINES.iter().find_map(|recognise| recognise(&fields))
}

/// Reads a document of whatever format it is.
pub(crate) fn document(text: &Arc<String>) -> Result<(&'static str, Vec<Transcript>), String> {
    let fields = Fields::parse(text).unwrap_or_default();
    let known =
        DOCUMENTS.iter().find_map(|(name, document)| Some((*name, document(&fields, text)?)));
    match known {
        Some((name, found)) => Ok((name, found?)),
        None => single_line(text)
            .map_or_else(|| wire::document(text), |(name, found)| Ok((name, found?))),
    }
}

/// A session file may have one line only; then it looks like a document.
fn single_line(text: &Arc<String>) -> Option<(&'static str, Result<Vec<Transcript>, String>)> {
    let mut lines = lines(text.trim_end()).filter(|lines| lines.name() != MESSAGES)?;
    let name = lines.name();
    let found = lines.line(text).map(|mut found| {
        found.extend(lines.finish());
        found
    });
    Some((name, found))
}

/// The format of a document; what no other format knows may be a list of messages.
pub(crate) fn document_name(text: &Arc<String>) -> &'static str {
    let fields = Fields::parse(text).unwrap_or_default();
    let known = DOCUMENTS.iter().find(|(_, document)| document(&fields, text).is_some());
    known.map_or_else(|| single_line(text).map_or(wire::NAME, |(name, _)| name), |(name, _)| name)
}

/// The names of all formats.
pub(crate) fn names() -> String {
    let lines =
        [claude_code::NAME, codex::NAME, copilot::NAME, pi::NAME, wire::NAME, agents_sqlite::NAME];
    let documents = DOCUMENTS.iter().map(|(name, _)| *name);
    lines.into_iter().chain(documents).collect::<Vec<_>>().join(", ")
}
