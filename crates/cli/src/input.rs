//! Reads conversations: a JSON document, JSON lines with one conversation per line, or a session
//! file of another program.
//!
//! The whole input is checked before anything is written, so that invalid input produces no partial
//! output. Lines are read one at a time, so that a file may be larger than memory.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use waterline::message::Wire;
use waterline_log::{Log, MAX_INPUT_BYTES, Session, read_all, read_line};
use waterline_provider::wire::{self, Conversation, ParseError};
use waterline_transcript::{MESSAGES, Transcript, archive};

use crate::db::{self, Stored};
use crate::show::{lines, phrase};
use crate::text;

/// A source of conversations.
#[derive(Debug)]
pub struct Input {
    name: String,
    source: Source,
    from: Option<Wire>,
    /// A document and the sessions of another program, which are read once; lines are read as they
    /// are needed.
    read: Option<Vec<Conversation>>,
    /// The stored session, if the input is one.
    session: Option<Session>,
    /// Whether it is a session file of another program.
    is_session_file: bool,
}

#[derive(Debug)]
enum Source {
    File(PathBuf),
    Memory(Vec<u8>),
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(name: &str, from: Option<Wire>) -> Result<Self> {
        let (name, source) = if name == "-" {
            let bytes = read_all(&mut std::io::stdin().lock(), MAX_INPUT_BYTES)
                .with_context(|| text!("cannot-read", path = text!("standard-input")))?;
            (text!("standard-input"), Source::Memory(bytes))
        } else {
            let mut file = File::open(name).with_context(|| text!("cannot-open", path = name))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                (name.to_owned(), Source::File(PathBuf::from(name)))
            } else {
                // A pipe can be read only once.
                let bytes = read_all(&mut file, MAX_INPUT_BYTES)
                    .with_context(|| text!("cannot-read", path = name))?;
                (name.to_owned(), Source::Memory(bytes))
            }
        };
        let mut input =
            Self { name, source, from, read: None, session: None, is_session_file: false };
        input.read = input.sessions()?;
        input.is_session_file = input.read.is_some();
        if input.read.is_none() && !input.has_lines()? {
            let bytes = read_all(&mut *input.reader()?, MAX_INPUT_BYTES)
                .with_context(|| input.cannot_read())?;
            input.read = Some(vec![input.parse(bytes, 0)?]);
        }
        Ok(input)
    }

    /// Reads a stored session, without the messages that were cleared.
    fn stored(log: &Log, id: &str) -> Result<Self> {
        let session = log.find(id)?;
        let cleared = usize::try_from(log.cleared(&session.id)?).unwrap_or_default();
        let mut found = conversation(archive::export(log, &session)?);
        found.messages.drain(..cleared.min(found.messages.len()));
        Ok(Self {
            name: session.id.clone(),
            source: Source::Memory(Vec::new()),
            from: None,
            read: Some(vec![found]),
            session: Some(session),
            is_session_file: false,
        })
    }

    /// Opens a file or, with `--db`, a stored session. A name that is not a file is looked up in
    /// the default log.
    pub fn of(name: &str, from: Option<Wire>, stored: &Stored) -> Result<Self> {
        if let Some(log) = stored.open()? {
            return Self::stored(&log, name);
        }
        let is_missing = name != "-" && !Path::new(name).exists();
        let known = if is_missing { db::in_default_log(name) } else { None };
        match known {
            Some(log) => Self::stored(&log, name),
            None if is_missing => bail!(text!("input-missing", name = name)),
            None => Self::open(name, from),
        }
    }

    /// Returns the name for display.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stored session that it is, if it is one.
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Returns whether it is a session file of another program. Its messages are not in the form of
    /// a wire.
    pub const fn is_session_file(&self) -> bool {
        self.is_session_file
    }

    /// Counts the conversations. Fails on the first one that is invalid.
    pub fn count(&self) -> Result<usize> {
        if let Some(read) = &self.read {
            return Ok(read.len());
        }
        let mut count = 0;
        self.each_line(|_| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// Visits each conversation.
    pub fn each(mut self, visit: impl FnMut(Conversation) -> Result<()>) -> Result<()> {
        match self.read.take() {
            Some(read) => read.into_iter().try_for_each(visit),
            None => self.each_line(visit),
        }
    }

    /// Reads the sessions of a file that another program wrote. None if the input is a conversation
    /// of a wire, or invalid: the parser of those reports the error better.
    fn sessions(&self) -> Result<Option<Vec<Conversation>>> {
        let source = match &self.source {
            Source::File(path) => waterline_transcript::Source::File(path.clone()),
            Source::Memory(bytes) => {
                waterline_transcript::Source::Bytes(self.name.clone(), bytes.clone())
            }
        };
        if self.from.is_some()
            || waterline_transcript::format_of(&source).is_ok_and(|name| name == MESSAGES)
        {
            return Ok(None);
        }
        let mut found = Vec::new();
        let report = waterline_transcript::read(&source, |transcript| {
            found.push(conversation(transcript));
            ControlFlow::Continue(())
        });
        let Ok(report) = report else { return Ok(None) };
        crate::sessions::show_notices(&self.name, &report.notices);
        Ok(Some(found))
    }

    fn cannot_read(&self) -> String {
        text!("cannot-read", path = &self.name)
    }

    fn each_line(&self, mut visit: impl FnMut(Conversation) -> Result<()>) -> Result<()> {
        let mut reader = self.reader()?;
        for number in 0.. {
            let mut line = Vec::new();
            let read = read_line(&mut *reader, &mut line).with_context(|| self.cannot_read())?;
            if read == 0 {
                break;
            }
            // Without the line break, an error about missing input names this line and not the
            // next.
            let length = line.trim_ascii_end().len();
            line.truncate(length);
            if !line.is_empty() {
                visit(self.parse(line, number)?)?;
            }
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn BufRead + '_>> {
        let mut reader: Box<dyn BufRead + '_> = match &self.source {
            Source::File(path) => {
                let file =
                    File::open(path).with_context(|| text!("cannot-open", path = &self.name))?;
                Box::new(BufReader::with_capacity(1 << 16, file))
            }
            Source::Memory(bytes) => Box::new(bytes.as_slice()),
        };
        let start = reader.fill_buf().with_context(|| self.cannot_read())?;
        if start.starts_with(b"\xEF\xBB\xBF") {
            reader.consume(3);
        }
        Ok(reader)
    }

    /// Returns whether the input is JSON lines: one JSON value is followed by another. The values
    /// are streamed, because the first may be the whole file.
    fn has_lines(&self) -> Result<bool> {
        let mut values = serde_json::Deserializer::from_reader(self.reader()?)
            .into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            None => Err(anyhow!(text!("input-empty", name = &self.name))),
            Some(Err(error)) if error.is_io() => Err(error).with_context(|| self.cannot_read()),
            // The parser of the whole document reports what is wrong.
            Some(Err(_)) => Ok(false),
            Some(Ok(_)) => Ok(values.next().is_some()),
        }
    }

    fn parse(&self, bytes: Vec<u8>, line: usize) -> Result<Conversation> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..valid).unwrap_or_default();
            let number = before.iter().filter(|&&byte| byte == b'\n').count();
            let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let column =
                String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count()
                    + 1;
            let line = (line + number + 1).to_string();
            let column = column.to_string();
            anyhow!(text!("input-not-utf8", name = &self.name, line = line, column = column))
        })?;
        let found = wire::parse(&Arc::new(text), self.from)
            .map_err(|error| ParseError::shifted(error, line));
        found.map_err(|error| {
            let cause = phrase(&error.phrase());
            anyhow!(text!("error-with-cause", error = &self.name, cause = cause))
        })
    }
}

fn conversation(transcript: Transcript) -> Conversation {
    let Transcript { wire, id, model, entries, tools, .. } = transcript;
    // The other program's summaries are not needed: the messages that they replaced are there.
    let messages = entries.into_iter().filter(|entry| !entry.is_summary);
    Conversation::of(wire, id, model, messages.map(|entry| entry.message).collect(), tools)
}

/// Returns buffered standard output for people, with colors only on a terminal.
pub fn output() -> Box<dyn Write> {
    Box::new(std::io::BufWriter::with_capacity(
        1 << 16,
        anstream::AutoStream::auto(std::io::stdout()),
    ))
}

/// Returns buffered standard output for programs: nothing is changed, except that control
/// characters do not reach a terminal.
pub fn raw_output() -> Box<dyn Write> {
    let out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout());
    if std::io::stdout().is_terminal() {
        Box::new(Sanitizer { out, line: Vec::new() })
    } else {
        Box::new(out)
    }
}

/// Writes line by line to a terminal, without control characters.
struct Sanitizer<W: Write> {
    out: W,
    /// What was written since the last line break.
    line: Vec<u8>,
}

impl<W: Write> Sanitizer<W> {
    fn write_line(&mut self) -> std::io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all(lines(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Sanitizer<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.write_line()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut sanitizer = Sanitizer { out: Vec::new(), line: Vec::new() };
        // A character may be split between two writes.
        let (first, rest) = "tide \u{1b}[2J \u{9b}31m 潮\nlow".as_bytes().split_at(17);
        sanitizer.write_all(first).unwrap();
        sanitizer.write_all(rest).unwrap();
        sanitizer.flush().unwrap();
        assert_eq!(
            String::from_utf8(sanitizer.out).unwrap(),
            "tide \u{FFFD}[2J \u{FFFD}31m 潮\nlow"
        );
    }
}
