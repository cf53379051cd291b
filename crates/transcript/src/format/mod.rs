//! The formats, one file each. A new format is a new file and a line in one of the lists below.

pub(crate) mod agents_sqlite;
mod wire;

use std::sync::Arc;

use waterline::json::Fields;

use crate::transcript::Transcript;

/// A file of lines, taken in one line after the other.
pub(crate) trait Lines {
    /// The name of the format.
    fn name(&self) -> &'static str;

    /// Takes in one line; hands over the transcript that it completes, if it does. An error is what is wrong with it.
    fn line(&mut self, text: &Arc<String>) -> Result<Option<Transcript>, String>;

    /// What is complete when there are no more lines.
    fn finish(self: Box<Self>) -> Vec<Transcript>;
}

/// Knows a format by one of its lines.
type Recognise = fn(&Fields<'_>) -> Option<Box<dyn Lines>>;

/// Formats of lines, those with the most telling lines first.
const LINES: &[Recognise] = &[wire::lines];

/// Reads a document, if it is of this format.
type Document = fn(&Fields<'_>, &Arc<String>) -> Option<Result<Vec<Transcript>, String>>;

/// Formats of whole documents.
const DOCUMENTS: &[(&str, Document)] = &[];

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
    let known = DOCUMENTS.iter().find_map(|(name, document)| Some((*name, document(&fields, text)?)));
    match known {
        Some((name, found)) => Ok((name, found?)),
        None => wire::document(text),
    }
}

/// The names of all formats.
pub(crate) fn names() -> String {
    let documents = DOCUMENTS.iter().map(|(name, _)| *name);
    documents.chain([wire::NAME, agents_sqlite::NAME]).collect::<Vec<_>>().join(", ")
}
