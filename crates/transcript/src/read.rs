//! Reads transcripts from a database, a JSON document, or JSON lines. Lines are read one at a time,
//! so a file may be larger than memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_log::{MAX_INPUT_BYTES, read_all, read_line};
use waterline_provider::wire::ParseError;

use crate::error::TranscriptError;
use crate::format::{self, Lines};
use crate::notice::{Notice, invalid_json};
use crate::transcript::Transcript;

/// The input to read transcripts from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file on disk, which is read when it is needed.
    File(PathBuf),
    /// Bytes that were already read, with a name for messages.
    Bytes(String, Vec<u8>),
}

/// The result of reading a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The name of the format.
    pub format: &'static str,
    /// The number of transcripts passed to the callback.
    pub transcripts: usize,
    /// The parts that were skipped.
    pub notices: Vec<Notice>,
}

/// The name of the format for message lists and request bodies of providers.
pub const MESSAGES: &str = format::MESSAGES;

/// The number of lines to inspect when detecting the format.
const MAX_PROBED_LINES: usize = 200;

/// Reads a file and calls `visit` with each transcript, until it returns `Break`.
///
/// # Errors
/// When the file cannot be read or contains no conversation.
pub fn read(
    source: &Source,
    mut visit: impl FnMut(Transcript) -> ControlFlow<()>,
) -> Result<Report, TranscriptError> {
    let reading = Reading { source };
    let mut report = Report::default();
    let mut emit = |transcript: Transcript, report: &mut Report| {
        report.transcripts += 1;
        visit(transcript)
    };
    if let Some(path) = reading.database()? {
        report.format = format::agents_sqlite::NAME;
        let mut notices = Vec::new();
        let read = format::agents_sqlite::read(path, &mut notices, |transcript| {
            emit(transcript, &mut report)
        });
        read.map_err(|source| TranscriptError::Database { name: reading.name(), source })?;
        report.notices = notices;
    } else if reading.is_lines()? {
        reading.lines(&mut report, &mut emit)?;
    } else {
        reading.document(&mut report, &mut emit)?;
    }
    Ok(report)
}

/// Detects the format of a file and returns its name, as in [`Report::format`].
///
/// # Errors
/// When the file cannot be read or its format is unknown.
pub fn format_of(source: &Source) -> Result<&'static str, TranscriptError> {
    let reading = Reading { source };
    if reading.database()?.is_some() {
        Ok(format::agents_sqlite::NAME)
    } else if reading.is_lines()? {
        Ok(reading.recognize()?.name())
    } else {
        let text = reading.document_text()?;
        Ok(format::document_name(&text))
    }
}

struct Reading<'a> {
    source: &'a Source,
}

type Emit<'a> = dyn FnMut(Transcript, &mut Report) -> ControlFlow<()> + 'a;

impl Reading<'_> {
    fn name(&self) -> String {
        match self.source {
            Source::File(path) => path.display().to_string(),
            Source::Bytes(name, _) => name.clone(),
        }
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> TranscriptError {
        let name = self.name();
        move |source| TranscriptError::Io { name, source }
    }

    fn no_conversation(&self, text: Phrase) -> TranscriptError {
        TranscriptError::NoConversation { name: self.name(), text }
    }

    /// Opens the source at its start, after a byte order mark.
    fn open(&self) -> Result<Box<dyn BufRead + '_>, TranscriptError> {
        let mut reader: Box<dyn BufRead + '_> = match self.source {
            Source::File(path) => {
                let mut file = File::open(path).map_err(self.failed())?;
                file.rewind().map_err(self.failed())?;
                Box::new(BufReader::with_capacity(1 << 16, file))
            }
            Source::Bytes(_, bytes) => Box::new(bytes.as_slice()),
        };
        if reader.fill_buf().map_err(self.failed())?.starts_with(b"\xEF\xBB\xBF") {
            reader.consume(3);
        }
        Ok(reader)
    }

    /// Returns the path if the source is an SQLite database.
    fn database(&self) -> Result<Option<&Path>, TranscriptError> {
        let mut reader = self.open()?;
        let is_sqlite = reader.fill_buf().map_err(self.failed())?.starts_with(b"SQLite format 3\0");
        match self.source {
            Source::File(path) if is_sqlite => Ok(Some(path)),
            Source::Bytes(..) if is_sqlite => Err(self.no_conversation(phrase!(
                "transcript-database-stream",
                "cannot read an SQLite database from a stream; pass its path"
            ))),
            _ => Ok(None),
        }
    }

    /// Returns whether each line is a JSON value: the first line that is not blank is valid JSON,
    /// and there are more.
    fn is_lines(&self) -> Result<bool, TranscriptError> {
        let mut first_is_valid = None;
        let mut any_object = false;
        let mut count = 0;
        self.each_line(|_, line| {
            count += 1;
            let is_valid = serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok();
            first_is_valid.get_or_insert(is_valid);
            any_object |= is_valid && line.starts_with(b"{");
            // A valid first line decides as soon as there is a second one; an invalid one may be
            // followed by valid ones.
            if count > 1 && (first_is_valid == Some(true) || any_object) || count > MAX_PROBED_LINES
            {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        match first_is_valid {
            None => Err(self.no_conversation(phrase!("transcript-empty", "the file is empty"))),
            Some(true) => Ok(count > 1),
            // A pretty-printed document has no line that is a complete object, unless it has a list
            // with one object per line.
            Some(false) => Ok(any_object && self.document_text().is_err()),
        }
    }

    fn each_line(
        &self,
        mut visit: impl FnMut(usize, Vec<u8>) -> ControlFlow<()>,
    ) -> Result<(), TranscriptError> {
        let mut reader = self.open()?;
        for number in 1.. {
            let mut line = Vec::new();
            if read_line(&mut *reader, &mut line).map_err(self.failed())? == 0 {
                break;
            }
            let length = line.trim_ascii_end().len();
            line.truncate(length);
            if !line.is_empty() && visit(number, line).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the error for damaged JSON, or for a text that does not even start like JSON.
    fn not_json(&self, text: &str, error: &serde_json::Error) -> TranscriptError {
        let content = text.trim_start();
        if content.starts_with(['{', '[']) {
            return self.no_conversation(ParseError::of_json(text, error).phrase());
        }
        let blank = text.get(..text.len() - content.len()).unwrap_or_default();
        let line = blank.matches('\n').count() + 1;
        TranscriptError::NotJson { name: self.name(), line, known: format::names() }
    }

    fn document_text(&self) -> Result<Arc<String>, TranscriptError> {
        let bytes = read_all(&mut *self.open()?, MAX_INPUT_BYTES).map_err(self.failed())?;
        let text = String::from_utf8(bytes).map_err(|_| self.no_conversation(not_utf8()))?;
        let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        parsed.map_err(|error| self.not_json(&text, &error))?;
        Ok(Arc::new(text))
    }

    fn document(&self, report: &mut Report, emit: &mut Emit<'_>) -> Result<(), TranscriptError> {
        let text = self.document_text()?;
        let (name, found) = format::document(&text).map_err(|error| self.no_conversation(error))?;
        report.format = name;
        let _ = found.into_iter().try_for_each(|transcript| emit(transcript, report));
        Ok(())
    }

    fn lines(&self, report: &mut Report, emit: &mut Emit<'_>) -> Result<(), TranscriptError> {
        let mut lines = self.recognize()?;
        report.format = lines.name();
        let mut stopped = ControlFlow::Continue(());
        self.each_line(|number, bytes| {
            let text = String::from_utf8(bytes).map_err(|_| not_utf8());
            let result =
                text.and_then(|text| match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
                    Ok(_) => lines.line(&Arc::new(text)),
                    Err(error) => Err(invalid_json(&error)),
                });
            match result {
                Ok(found) => {
                    stopped = found.into_iter().try_for_each(|transcript| emit(transcript, report))
                }
                Err(text) => report.notices.push(Notice { line: Some(number), text }),
            }
            stopped
        })?;
        if stopped.is_continue() {
            let _ = lines.finish().into_iter().try_for_each(|transcript| emit(transcript, report));
        }
        if report.transcripts == 0 {
            let text = match report.notices.first() {
                Some(notice) => phrase!(
                    "transcript-none-because",
                    "no conversation found ({cause})",
                    cause = notice.phrase()
                ),
                None => phrase!("transcript-none", "no conversation found"),
            };
            return Err(self.no_conversation(text));
        }
        Ok(())
    }

    /// Returns the format that recognizes one of the first lines.
    fn recognize(&self) -> Result<Box<dyn Lines>, TranscriptError> {
        let mut found = None;
        let mut probed = 0;
        self.each_line(|_, line| {
            probed += 1;
            found = std::str::from_utf8(&line).ok().and_then(format::lines);
            if found.is_some() || probed >= MAX_PROBED_LINES {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        found.ok_or_else(|| {
            let lines = if probed == 1 { "line" } else { "lines" };
            self.no_conversation(phrase!(
                "transcript-unknown-format",
                "unknown format (looked at {count} {lines}); supported formats: {known}",
                count = probed,
                lines = lines,
                known = format::names()
            ))
        })
    }
}

fn not_utf8() -> Phrase {
    phrase!("transcript-not-utf8", "not valid UTF-8")
}
