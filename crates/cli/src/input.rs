//! Reading conversations: a JSON document, JSON lines with one conversation a line, or a session
//! file of another program.
//!
//! Everything is read once before anything is done, so that bad input leaves nothing on the output;
//! lines are read one at a time, so that a file may be larger than the memory.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use waterline::message::Wire;
use waterline_log::Log;
use waterline_provider::wire::{self, Conversation, ParseError};
use waterline_transcript::{MESSAGES, Transcript, archive};

use crate::db::Stored;
use crate::show::lines;

/// Where conversations come from.
#[derive(Debug)]
pub struct Input {
    name: String,
    source: Source,
    from: Option<Wire>,
    /// A document is read once, and so are the sessions of another program; lines are read as they
    /// are needed.
    read: Option<Vec<Conversation>>,
}

#[derive(Debug)]
enum Source {
    File(PathBuf),
    Memory(Vec<u8>),
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(name: &str, from: Option<Wire>) -> Result<Self> {
        let mut bytes = Vec::new();
        let (name, source) = if name == "-" {
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read standard input")?;
            ("standard input", Source::Memory(bytes))
        } else {
            let mut file = File::open(name).with_context(|| format!("cannot open {name}"))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                (name, Source::File(PathBuf::from(name)))
            } else {
                // A pipe can be read only once.
                file.read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
                (name, Source::Memory(bytes))
            }
        };
        let mut input = Self { name: name.to_owned(), source, from, read: None };
        input.read = input.sessions()?;
        if input.read.is_none() && !input.has_lines()? {
            let mut bytes = Vec::new();
            input
                .reader()?
                .read_to_end(&mut bytes)
                .with_context(|| format!("cannot read {}", input.name))?;
            input.read = Some(vec![input.parse(bytes, 0)?]);
        }
        Ok(input)
    }

    /// The conversation of a stored session, without what was cleared.
    fn stored(log: &Log, id: &str) -> Result<Self> {
        let session = log.find(id)?;
        let cleared = usize::try_from(log.cleared(&session.id)?).unwrap_or_default();
        let mut found = conversation(archive::export(log, &session)?);
        found.messages.drain(..cleared.min(found.messages.len()));
        Ok(Self {
            name: session.id,
            source: Source::Memory(Vec::new()),
            from: None,
            read: Some(vec![found]),
        })
    }

    /// A file, or with `--db` a stored session.
    pub fn of(name: &str, from: Option<Wire>, stored: &Stored) -> Result<Self> {
        match stored.open()? {
            Some(log) => Self::stored(&log, name),
            None => Self::open(name, from),
        }
    }

    /// What it is called, for a person.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many conversations there are; an error for the first thing that is none.
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

    /// Hands over one conversation after the other.
    pub fn each(mut self, visit: impl FnMut(Conversation) -> Result<()>) -> Result<()> {
        match self.read.take() {
            Some(read) => read.into_iter().try_for_each(visit),
            None => self.each_line(visit),
        }
    }

    /// The sessions of a file that another program wrote; nothing where it is a conversation of a
    /// wire, or something that the reader of those has a better word for.
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

    fn each_line(&self, mut visit: impl FnMut(Conversation) -> Result<()>) -> Result<()> {
        let mut reader = self.reader()?;
        for number in 0.. {
            let mut line = Vec::new();
            if reader
                .read_until(b'\n', &mut line)
                .with_context(|| format!("cannot read {}", self.name))?
                == 0
            {
                break;
            }
            // The line's end is not part of it: what is cut off is missing on this line, not on the
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
                    File::open(path).with_context(|| format!("cannot open {}", self.name))?;
                Box::new(BufReader::with_capacity(1 << 16, file))
            }
            Source::Memory(bytes) => Box::new(bytes.as_slice()),
        };
        let start = reader.fill_buf().with_context(|| format!("cannot read {}", self.name))?;
        if start.starts_with(b"\xEF\xBB\xBF") {
            reader.consume(3);
        }
        Ok(reader)
    }

    /// One JSON value with another behind it makes JSON lines. Read as a stream: the first value
    /// may be the whole file.
    fn has_lines(&self) -> Result<bool> {
        let mut values = serde_json::Deserializer::from_reader(self.reader()?)
            .into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            None => Err(anyhow!("{}: line 1, column 1: there is nothing in it", self.name)),
            Some(Err(error)) if error.is_io() => {
                Err(error).with_context(|| format!("cannot read {}", self.name))
            }
            // Whatever is wrong with it is said by the one who reads it whole.
            Some(Err(_)) => Ok(false),
            Some(Ok(_)) => Ok(values.next().is_some()),
        }
    }

    fn parse(&self, bytes: Vec<u8>, line: usize) -> Result<Conversation> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..good).unwrap_or_default();
            let number = before.iter().filter(|&&byte| byte == b'\n').count();
            let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let column =
                String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count()
                    + 1;
            anyhow!("{}: line {}, column {column}: not UTF-8", self.name, line + number + 1)
        })?;
        let found = wire::parse(&Arc::new(text), self.from)
            .map_err(|error| ParseError::shifted(error, line));
        found.map_err(|error| anyhow!("{}: {error}", self.name))
    }
}

fn conversation(transcript: Transcript) -> Conversation {
    let Transcript { wire, id, model, entries, tools, .. } = transcript;
    // What the program wrote in place of messages it had cut is not needed: they are there.
    let said = entries.into_iter().filter(|entry| !entry.is_summary);
    Conversation::of(wire, id, model, said.map(|entry| entry.message).collect(), tools)
}

/// Standard output for people, buffered; colours only on a terminal.
pub fn output() -> Box<dyn Write> {
    Box::new(std::io::BufWriter::with_capacity(
        1 << 16,
        anstream::AutoStream::auto(std::io::stdout()),
    ))
}

/// Standard output for programs, buffered: nothing in it is touched. Only a terminal is not steered
/// by it.
pub fn raw_output() -> Box<dyn Write> {
    let out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout());
    if std::io::stdout().is_terminal() {
        Box::new(Shown { out, line: Vec::new() })
    } else {
        Box::new(out)
    }
}

/// A terminal that is written to line by line, without what would steer it.
struct Shown<W: Write> {
    out: W,
    /// What has come of a line.
    line: Vec<u8>,
}

impl<W: Write> Shown<W> {
    fn write_line(&mut self) -> std::io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.out.write_all(lines(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Shown<W> {
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
    fn what_is_shown_does_not_steer_the_terminal() {
        let mut shown = Shown { out: Vec::new(), line: Vec::new() };
        // A character that comes in two pieces is one all the same.
        let (first, rest) = "tide \u{1b}[2J \u{9b}31m 潮\nlow".as_bytes().split_at(17);
        shown.write_all(first).unwrap();
        shown.write_all(rest).unwrap();
        shown.flush().unwrap();
        assert_eq!(String::from_utf8(shown.out).unwrap(), "tide \u{FFFD}[2J \u{FFFD}31m 潮\nlow");
    }
}
