//! Reading conversations: a JSON document, or JSON lines with one conversation a line.
//!
//! Everything is read once before anything is done, so that bad input leaves nothing on the output; lines are read one
//! at a time, so that a file may be larger than the memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use waterline::message::Wire;
use waterline_provider::wire::{self, Conversation, ParseError};

/// Where conversations come from.
#[derive(Debug)]
pub struct Input {
    name: String,
    source: Source,
    shape: Shape,
    from: Option<Wire>,
}

#[derive(Debug)]
enum Source {
    File(PathBuf),
    Memory(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Document,
    Lines,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(name: &str, from: Option<Wire>) -> Result<Self> {
        let source = if name == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
            Source::Memory(bytes)
        } else {
            Source::File(PathBuf::from(name))
        };
        let mut input = Self {
            name: if name == "-" { "standard input".into() } else { name.into() },
            source,
            shape: Shape::Document,
            from,
        };
        input.shape = input.find_shape()?;
        Ok(input)
    }

    /// What it is called, for a person.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many conversations there are; an error for the first thing that is none.
    pub fn count(&self) -> Result<usize> {
        let mut count = 0;
        self.each(|_| {
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    /// Hands over one conversation after the other.
    pub fn each(&self, mut visit: impl FnMut(Conversation) -> Result<()>) -> Result<()> {
        if self.shape == Shape::Document {
            let mut bytes = Vec::new();
            self.reader()?.read_to_end(&mut bytes).with_context(|| format!("cannot read {}", self.name))?;
            return visit(self.parse(bytes, 0)?);
        }
        let mut reader = self.reader()?;
        for number in 0.. {
            let mut line = Vec::new();
            if reader.read_until(b'\n', &mut line).with_context(|| format!("cannot read {}", self.name))? == 0 {
                break;
            }
            if !line.trim_ascii().is_empty() {
                visit(self.parse(line, number)?)?;
            }
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn BufRead + '_>> {
        let mut reader: Box<dyn BufRead + '_> = match &self.source {
            Source::File(path) => {
                let file = File::open(path).with_context(|| format!("cannot open {}", self.name))?;
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

    /// A first line that is JSON in itself, with another line behind it, makes JSON lines.
    fn find_shape(&self) -> Result<Shape> {
        let mut reader = self.reader()?;
        let mut first = Vec::new();
        let mut read = |line: &mut Vec<u8>| -> Result<bool> {
            loop {
                line.clear();
                if reader.read_until(b'\n', line).with_context(|| format!("cannot read {}", self.name))? == 0 {
                    return Ok(false);
                }
                if !line.trim_ascii().is_empty() {
                    return Ok(true);
                }
            }
        };
        if !read(&mut first)? {
            return Err(anyhow!("{}: line 1, column 1: there is nothing in it", self.name));
        }
        let complete = serde_json::from_slice::<serde::de::IgnoredAny>(&first).is_ok();
        let more = complete && read(&mut Vec::new())?;
        Ok(if more { Shape::Lines } else { Shape::Document })
    }

    fn parse(&self, bytes: Vec<u8>, line: usize) -> Result<Conversation> {
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..good).unwrap_or_default();
            let number = before.iter().filter(|&&byte| byte == b'\n').count();
            let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let column = String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count() + 1;
            anyhow!("{}: line {}, column {column}: not UTF-8", self.name, line + number + 1)
        })?;
        let text: Arc<str> = text.into();
        let found = wire::parse(&text, self.from).map_err(|error| ParseError::shifted(error, line));
        found.map_err(|error| anyhow!("{}: {error}", self.name))
    }
}

/// Standard output, buffered; colours only on a terminal.
pub fn output() -> impl Write {
    std::io::BufWriter::with_capacity(1 << 16, anstream::AutoStream::auto(std::io::stdout()))
}
