//! From a file to transcripts: a database, one JSON document, or lines. Lines are read one at a
//! time, so that a file may be larger than the memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::TranscriptError;
use crate::format::{self, Lines};
use crate::notice::Notice;
use crate::transcript::Transcript;

/// Where transcripts come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Bytes that were read from somewhere else, under a name for people.
    Bytes(String, Vec<u8>),
}

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The name of the format.
    pub format: &'static str,
    /// How many transcripts were handed over.
    pub transcripts: usize,
    /// What was passed over.
    pub notices: Vec<Notice>,
}

/// The format of lists of messages and request bodies, as providers take them.
pub const MESSAGES: &str = format::MESSAGES;

/// How many lines are looked at to tell the format.
const LOOK: usize = 200;

/// Reads a file and hands over its transcripts, until one is answered by `Break`.
///
/// # Errors
/// When the file cannot be read, or nothing in it is a conversation.
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

/// The name of a file's format, as [`Report::format`] gives it.
///
/// # Errors
/// When the file cannot be read, or is of no known format.
pub fn format_of(source: &Source) -> Result<&'static str, TranscriptError> {
    let reading = Reading { source };
    if reading.database()?.is_some() {
        Ok(format::agents_sqlite::NAME)
    } else if reading.is_lines()? {
        Ok(reading.recognise()?.name())
    } else {
        let text = reading.whole()?;
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

    fn no_conversation(&self, text: impl Into<String>) -> TranscriptError {
        TranscriptError::NoConversation { name: self.name(), text: text.into() }
    }

    /// The bytes from the beginning, without a byte order mark.
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

    /// The path, when the file is a database.
    fn database(&self) -> Result<Option<&Path>, TranscriptError> {
        let mut reader = self.open()?;
        let is_one = reader.fill_buf().map_err(self.failed())?.starts_with(b"SQLite format 3\0");
        match self.source {
            Source::File(path) if is_one => Ok(Some(path)),
            Source::Bytes(..) if is_one => {
                Err(self.no_conversation("a database must be given as a file"))
            }
            _ => Ok(None),
        }
    }

    /// Whether each line is a JSON value of its own: the first line with something on it is whole,
    /// and there are more.
    fn is_lines(&self) -> Result<bool, TranscriptError> {
        let mut first = None;
        let mut any = false;
        let mut count = 0;
        self.each_line(|_, line| {
            count += 1;
            let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok();
            first.get_or_insert(whole);
            any |= whole && line.starts_with(b"{");
            // A whole first line settles it as soon as there is a second; a broken one may be
            // followed by whole ones.
            if count > 1 && (first == Some(true) || any) || count > LOOK {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        match first {
            None => Err(self.no_conversation("there is nothing in it")),
            Some(true) => Ok(count > 1),
            // A document that is spread over lines has no line that is a whole object, unless its
            // list has one a line.
            Some(false) => Ok(any && self.whole().is_err()),
        }
    }

    fn each_line(
        &self,
        mut visit: impl FnMut(usize, Vec<u8>) -> ControlFlow<()>,
    ) -> Result<(), TranscriptError> {
        let mut reader = self.open()?;
        for number in 1.. {
            let mut line = Vec::new();
            if reader.read_until(b'\n', &mut line).map_err(self.failed())? == 0 {
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

    fn whole(&self) -> Result<Arc<String>, TranscriptError> {
        let mut bytes = Vec::new();
        self.open()?.read_to_end(&mut bytes).map_err(self.failed())?;
        let text = String::from_utf8(bytes).map_err(|_| self.no_conversation("not UTF-8"))?;
        let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        parsed.map_err(|error| self.no_conversation(format!("not JSON: {error}")))?;
        Ok(Arc::new(text))
    }

    fn document(&self, report: &mut Report, emit: &mut Emit<'_>) -> Result<(), TranscriptError> {
        let text = self.whole()?;
        let (name, found) = format::document(&text).map_err(|error| self.no_conversation(error))?;
        report.format = name;
        let _ = found.into_iter().try_for_each(|transcript| emit(transcript, report));
        Ok(())
    }

    fn lines(&self, report: &mut Report, emit: &mut Emit<'_>) -> Result<(), TranscriptError> {
        let mut lines = self.recognise()?;
        report.format = lines.name();
        let mut stopped = ControlFlow::Continue(());
        self.each_line(|number, bytes| {
            let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned());
            let taken =
                text.and_then(|text| match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
                    Ok(_) => lines.line(&Arc::new(text)),
                    Err(error) => Err(format!("not JSON: {error}")),
                });
            match taken {
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
            let first =
                report.notices.first().map_or_else(String::new, |notice| format!(" ({notice})"));
            return Err(self.no_conversation(format!("no line of it is a conversation{first}")));
        }
        Ok(())
    }

    /// The format that knows one of the first lines.
    fn recognise(&self) -> Result<Box<dyn Lines>, TranscriptError> {
        let mut found = None;
        let mut looked = 0;
        self.each_line(|_, line| {
            looked += 1;
            found = std::str::from_utf8(&line).ok().and_then(format::lines);
            if found.is_some() || looked >= LOOK {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        found.ok_or_else(|| {
            self.no_conversation(format!(
                "no known format in its first {looked} lines; known are {}",
                format::names()
            ))
        })
    }
}
