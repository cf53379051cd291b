//! Imports the JSON Lines that [`Log::export`] writes. A second import of the same export adds
//! nothing. A changed line is refused, because its message no longer matches its id.

mod sessions;

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use waterline::message::{Message, Role, Wire};

use crate::artifact::{self, Artifact, is_file_record};
use crate::bounded::read_line;
use crate::encoding::Encoding;
use crate::entry::Entry;
use crate::error::{LogError, Result};
use crate::generation;
use crate::id::Id;
use crate::incoming::Incoming;
use crate::line::{Bytes, Line, MessageLine, VERSION};
use crate::log::Log;
use crate::search_terms::searchable;
use crate::store::{Connection, values};
use crate::tree::{Tip, grow, tip_of};
use waterline::phrase;
use waterline::phrase::Phrase;

/// The maximum number of lines per transaction.
const MAX_LINES: usize = 2_000;

/// The number of bytes after which a transaction ends.
const MAX_BYTES: usize = 16 << 20;

/// The result of [`Log::import`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of messages added to the log.
    pub messages: u64,
    /// Number of sessions created.
    pub sessions: u64,
    /// Number of existing sessions to which messages were added.
    pub continued: u64,
    /// Existing sessions with other messages than the export. They are unchanged; the imported
    /// messages became a fork.
    pub forked: Vec<String>,
}

/// Parses the JSON of a wire into a message; `None` if that is not possible. The log itself does
/// not know any vendor's JSON.
pub type Parse = fn(Arc<String>, Wire, Role) -> Option<Message>;

/// The state of an import that one transaction passes to the next.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// The version of the export.
    version: u32,
    /// The sessions of the export, by their ids in the export.
    targets: HashMap<String, Target>,
    /// Tool definitions by hash. They are stored with the first session that uses them.
    tools: HashMap<String, Arc<Vec<u8>>>,
}

/// The session in this log that receives the lines of an exported session.
#[derive(Clone, Debug)]
struct Target {
    id: String,
    /// How many messages the session had before. Lines about later messages are new. `None` if it
    /// had all messages: then no line is new.
    known: Option<u64>,
}

impl Log {
    /// Imports the JSON Lines that [`Log::export`] writes. Calls `progress` with the number of
    /// bytes read so far.
    ///
    /// Messages keep their ids, so importing the same export again adds nothing. Imported sessions
    /// have no workspace and no [`Session::local`](crate::Session::local) data, and their messages
    /// count as untrusted ([`Session::imported`](crate::Session::imported)).
    ///
    /// # Errors
    /// If a line is invalid, a message does not match its id, or the export is truncated. Lines of
    /// earlier batches stay imported; importing again continues from there.
    pub fn import(
        &self,
        mut from: impl BufRead,
        parse: Parse,
        mut progress: impl FnMut(u64),
    ) -> Result<Imported> {
        let mut imported = Imported::default();
        let mut state = Progress::default();
        let mut batch: Vec<(usize, Line)> = Vec::new();
        let mut batch_bytes = 0;
        let mut bytes = 0;
        let mut lines = 0;
        let mut text = Vec::new();
        let mut ended = false;
        loop {
            text.clear();
            let length = read_line(&mut from, &mut text)?;
            if length == 0 {
                break;
            }
            bytes += length as u64;
            batch_bytes += length;
            lines += 1;
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line = serde_json::from_slice(&text).map_err(|error: serde_json::Error| {
                let cause = Phrase::from(error.to_string());
                let why = phrase!("import-line", "invalid export line: {cause}", cause = cause);
                refused(lines, why)
            })?;
            check_first(lines, &line)?;
            ended = matches!(line, Line::End(_));
            batch.push((lines, line));
            if batch.len() >= MAX_LINES || batch_bytes >= MAX_BYTES {
                let full = std::mem::take(&mut batch);
                state = self.import_batch(full, parse, state, &mut imported)?;
                batch_bytes = 0;
                progress(bytes);
            }
        }
        self.import_batch(batch, parse, state, &mut imported)?;
        progress(bytes);
        if ended || lines == 0 {
            return Ok(imported);
        }
        let text = phrase!(
            "import-truncated",
            "the export is truncated: it has no end line; the lines so far were imported"
        );
        Err(refused(lines, text))
    }

    fn import_batch(
        &self,
        batch: Vec<(usize, Line)>,
        parse: Parse,
        state: Progress,
        imported: &mut Imported,
    ) -> Result<Progress> {
        let now = self.now();
        let (added, state) = self.write(move |connection| {
            let mut import = Import {
                connection,
                parse,
                now,
                added: Imported::default(),
                chain: Chain::default(),
                state: state.clone(),
            };
            for (number, line) in &batch {
                import.line(line.clone()).map_err(|error| at_line(*number, error))?;
            }
            let last = batch.last().map_or(0, |(number, _)| *number);
            import.flush().map_err(|error| at_line(last, error))?;
            Ok((import.added, import.state))
        })?;
        imported.messages += added.messages;
        imported.sessions += added.sessions;
        imported.continued += added.continued;
        imported.forked.extend(added.forked);
        Ok(state)
    }
}

fn refused(line: usize, why: Phrase) -> LogError {
    LogError::Line { line, cause: Box::new(LogError::refused(why)) }
}

/// Adds the line number to errors about a line. Errors of the log itself are returned unchanged.
fn at_line(number: usize, error: LogError) -> LogError {
    match error {
        LogError::Refused(_) | LogError::InvalidId { .. } | LogError::Missing { .. } => {
            LogError::Line { line: number, cause: Box::new(error) }
        }
        other => other,
    }
}

fn check_first(number: usize, line: &Line) -> Result<()> {
    match (number, line) {
        (1, Line::Waterline(1..=VERSION)) => Ok(()),
        (1, Line::Waterline(newer)) => Err(refused(
            1,
            phrase!(
                "import-newer",
                "unsupported export version {found}; this version of waterline reads up to \
                 {known}: use a newer waterline",
                found = newer.to_string(),
                known = VERSION.to_string()
            ),
        )),
        (1, _) => {
            let text = phrase!(
                "import-foreign",
                "not a waterline export: its first line must be {{\"waterline\": VERSION}}"
            );
            Err(refused(1, text))
        }
        _ => Ok(()),
    }
}

fn decode(bytes: Bytes) -> Result<Vec<u8>> {
    bytes.into_bytes().ok_or_else(|| LogError::refused(phrase!("import-base64", "invalid Base64")))
}

/// Consecutive messages that are inserted together.
#[derive(Default)]
struct Chain {
    parent: Option<Id>,
    last: Option<Id>,
    messages: Vec<Incoming>,
}

struct Import<'a> {
    connection: &'a mut dyn Connection,
    parse: Parse,
    now: i64,
    added: Imported,
    chain: Chain,
    state: Progress,
}

impl Import<'_> {
    fn line(&mut self, line: Line) -> Result<()> {
        if let Line::Message(line) = line {
            return self.message(*line);
        }
        self.flush()?;
        match line {
            Line::Waterline(version) => {
                self.state.version = version;
                Ok(())
            }
            Line::Message(_) | Line::End(_) => Ok(()),
            Line::Tools(line) => self.tools(*line),
            Line::Session(line) => self.session(*line),
            Line::Sent(line) => self.sent(*line),
            Line::Generation(line) => {
                let at = self.tip_of(line.at.as_deref())?;
                match self.target_if_new(&line.session, at.position)? {
                    Some(id) => generation::add_once(
                        self.connection,
                        &id,
                        at,
                        line.number,
                        &line.fold,
                        line.time,
                    )
                    .map(drop),
                    None => Ok(()),
                }
            }
            Line::Summary(line) => self.summary(*line),
            Line::Checkpoint(line) => self.checkpoint(*line),
            Line::Usage(line) => self.usage(*line),
            // A record of changed files must come from this machine.
            Line::Artifact(line) if is_file_record(&line.media) => Ok(()),
            Line::Artifact(line) => {
                let bytes = decode(line.bytes)?;
                let artifact = Artifact {
                    hash: String::new(),
                    media: line.media,
                    preview: line.preview,
                    size: bytes.len() as u64,
                    time: line.time,
                };
                let id = self.target(&line.session)?;
                artifact::put(self.connection, &id, &artifact, &bytes)
            }
            Line::Job(line) => self.job(*line),
            Line::Preference(line) => {
                // Existing preferences take precedence.
                let sql = "INSERT INTO preference (user_id, name, value) VALUES ($1, $2, $3) \
                           ON CONFLICT (user_id, name) DO NOTHING";
                self.connection.run(sql, values![&line.user, &line.name, &line.value]).map(drop)
            }
        }
    }

    fn message(&mut self, line: MessageLine) -> Result<()> {
        let id: Id = line.id.parse()?;
        let parent = line.parent.as_deref().map(str::parse::<Id>).transpose()?;
        if self.chain.messages.is_empty() || self.chain.last != parent {
            self.flush()?;
            self.chain.parent = parent;
        }
        let encoding = Encoding::named(&line.encoding).ok_or_else(|| {
            LogError::refused(phrase!(
                "import-encoding",
                "unknown encoding {name:?}",
                name = &line.encoding
            ))
        })?;
        let bytes = decode(line.bytes)?;
        if Id::of(parent, line.role, encoding, &bytes) != id {
            return Err(LogError::refused(phrase!(
                "import-message-changed",
                "message {id} was changed: its content does not match its id",
                id = id.short()
            )));
        }
        let entry = Entry {
            id,
            position: 0,
            role: line.role,
            encoding,
            bytes,
            tokens: line.tokens,
            counter: line.counter,
            time: line.time,
        };
        let text = searchable(&entry.message(self.parse));
        self.chain.messages.push(Incoming {
            role: entry.role,
            encoding: entry.encoding,
            bytes: entry.bytes,
            tokens: entry.tokens,
            counter: entry.counter,
            text,
            time: Some(entry.time),
        });
        self.chain.last = Some(id);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let chain = std::mem::take(&mut self.chain);
        if chain.messages.is_empty() {
            return Ok(());
        }
        let parent = chain.parent.map(|id| id.to_string());
        let tip = self.tip_of(parent.as_deref())?;
        self.added.messages += grow(self.connection, tip, &chain.messages, self.now)?.new as u64;
        Ok(())
    }

    /// Returns the tip of a message that a line refers to.
    fn tip_of(&mut self, id: Option<&str>) -> Result<Tip> {
        let Some(id) = id else { return Ok(Tip::EMPTY) };
        let tip = tip_of(self.connection, id.parse()?)?;
        tip.ok_or_else(|| LogError::Missing { what: "message", id: id.to_owned() })
    }

    /// Returns the id of the session that receives the lines of an exported session.
    fn target(&self, session: &str) -> Result<String> {
        let id = self.state.targets.get(session).map(|target| target.id.clone());
        id.ok_or_else(|| {
            LogError::refused(phrase!(
                "import-unknown-session",
                "session {id:?} is not in the export before this line",
                id = session
            ))
        })
    }

    /// Returns the same id if a line about this position is new to the session.
    fn target_if_new(&self, session: &str, position: u64) -> Result<Option<String>> {
        let id = self.target(session)?;
        let known = self.state.targets.get(session).and_then(|target| target.known);
        Ok(known.is_some_and(|known| position > known || known == 0).then_some(id))
    }
}
