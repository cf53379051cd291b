//! Taking in what [`Log::export`] wrote. Importing the same twice adds nothing; a line that was changed is refused, since
//! its message no longer has the id it says.

use std::io::BufRead;
use std::sync::Arc;

use waterline::message::{Message, Role, Wire};

use crate::artifact::{self, Artifact};
use crate::checkpoint::{self, Checkpoint};
use crate::encoding::Encoding;
use crate::entry::Entry;
use crate::error::{LogError, Result};
use crate::frozen::{self, Fold, Sent};
use crate::id::Id;
use crate::incoming::Incoming;
use crate::line::{FoldLine, Line, MessageLine, SentLine, SessionLine, SummaryLine, VERSION};
use crate::log::Log;
use crate::session::{self, Relation, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Tip, grow, place};
use crate::words::searchable;

/// How many lines are taken in at a time.
const LINES: usize = 2_000;

/// How many bytes of messages are taken in at a time.
const BYTES: usize = 16 << 20;

/// What an import added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Messages that were new to the log.
    pub messages: u64,
    /// Sessions that were new.
    pub sessions: u64,
    /// Sessions that were there and went on.
    pub continued: u64,
    /// Sessions that have gone another way here; what was imported is in the log, and they stay where they are.
    pub kept: Vec<String>,
}

/// Reads the JSON of a wire: what can be searched of a message is in there.
pub type Parse = fn(Arc<String>, Wire, Role) -> Option<Message>;

impl Log {
    /// Takes in lines that [`Log::export`] wrote. `progress` hears how many bytes were read.
    ///
    /// # Errors
    /// When a line cannot be read, or a message does not have the id it says. What was taken in before stays; importing
    /// again goes on from there.
    pub fn import(&self, mut from: impl BufRead, parse: Parse, mut progress: impl FnMut(u64)) -> Result<Imported> {
        let mut imported = Imported::default();
        let mut batch: Vec<(usize, Line)> = Vec::new();
        let (mut read, mut size, mut text) = (0, 0, Vec::new());
        for number in 1.. {
            text.clear();
            let length = from.read_until(b'\n', &mut text)?;
            if length == 0 {
                break;
            }
            (read, size) = (read + length as u64, size + length);
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line = serde_json::from_slice(&text);
            let line = line
                .map_err(|error| LogError::Line { line: number, text: format!("not a line of an export: {error}") })?;
            check_first(number, &line)?;
            batch.push((number, line));
            if batch.len() >= LINES || size >= BYTES {
                self.take(std::mem::take(&mut batch), parse, &mut imported)?;
                size = 0;
                progress(read);
            }
        }
        self.take(batch, parse, &mut imported)?;
        progress(read);
        Ok(imported)
    }

    fn take(&self, batch: Vec<(usize, Line)>, parse: Parse, imported: &mut Imported) -> Result<()> {
        let now = self.now();
        let added = self.write(move |connection| {
            let mut import = Import { connection, parse, now, added: Imported::default(), chain: Chain::default() };
            for (number, line) in &batch {
                let outcome = import.line(line.clone());
                outcome.map_err(|error| match error {
                    LogError::Refused(text) => LogError::Line { line: *number, text },
                    LogError::NoId { .. } | LogError::Missing { .. } | LogError::NoSession { .. } => {
                        LogError::Line { line: *number, text: error.to_string() }
                    }
                    other => other,
                })?;
            }
            import.flush()?;
            Ok(import.added)
        })?;
        imported.messages += added.messages;
        imported.sessions += added.sessions;
        imported.continued += added.continued;
        imported.kept.extend(added.kept);
        Ok(())
    }
}

fn check_first(number: usize, line: &Line) -> Result<()> {
    let text = match (number, line) {
        (1, Line::Waterline(VERSION)) => return Ok(()),
        (1, Line::Waterline(newer)) => format!("an export of version {newer}; this program knows {VERSION}"),
        (1, _) => "not an export: its first line does not say so".to_owned(),
        _ => return Ok(()),
    };
    Err(LogError::Line { line: number, text })
}

/// Messages that follow each other, waiting to be put in together.
#[derive(Default)]
struct Chain {
    parent: Option<Id>,
    last: Option<Id>,
    incoming: Vec<Incoming>,
}

struct Import<'a> {
    connection: &'a mut dyn Connection,
    parse: Parse,
    now: i64,
    added: Imported,
    chain: Chain,
}

impl Import<'_> {
    fn line(&mut self, line: Line) -> Result<()> {
        if let Line::Message(line) = line {
            return self.message(*line);
        }
        self.flush()?;
        match line {
            Line::Waterline(_) | Line::Message(_) => Ok(()),
            Line::Session(line) => self.session(*line),
            Line::Sent(line) => self.step(*line),
            Line::Generation(line) => {
                let at = self.find(line.at.as_deref())?;
                frozen::note(self.connection, &line.session, at, line.number, &fold_of(line.fold), line.time).map(drop)
            }
            Line::Summary(line) => self.summary(*line),
            Line::Checkpoint(line) => {
                let (thread_id, checkpoint_id) = (line.thread_id, line.checkpoint_id);
                let (parent_checkpoint_id, checkpoint, metadata) =
                    (line.parent_checkpoint_id, line.checkpoint, line.metadata);
                let made = Checkpoint { thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata };
                checkpoint::insert(self.connection, &made)
            }
            Line::Usage(line) => {
                let sql = "INSERT INTO usage (session, number, position, model, input, cache_read, cache_write, output, price, \
                           latency, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
                           ON CONFLICT (session, number) DO NOTHING";
                let values = values![
                    &line.session,
                    line.number,
                    line.position,
                    &line.model,
                    line.input,
                    line.cache_read,
                    line.cache_write,
                    line.output,
                    line.price,
                    line.latency,
                    line.time
                ];
                self.connection.run(sql, values).map(drop)
            }
            Line::Artifact(line) => {
                let bytes = line.bytes.into_bytes().ok_or_else(|| LogError::Refused("not base64".to_owned()))?;
                let (media, preview, size) = (line.media, line.preview, bytes.len() as u64);
                let made = Artifact { hash: String::new(), media, preview, size, time: line.time };
                artifact::put(self.connection, &line.session, &made, &bytes)
            }
        }
    }

    fn message(&mut self, line: MessageLine) -> Result<()> {
        let id: Id = line.id.parse()?;
        let parent = line.parent.as_deref().map(str::parse::<Id>).transpose()?;
        if self.chain.incoming.is_empty() || self.chain.last != parent {
            self.flush()?;
            self.chain.parent = parent;
        }
        let encoding = Encoding::named(&line.encoding)
            .ok_or_else(|| LogError::Refused(format!("{:?} is no encoding", line.encoding)))?;
        let bytes = line.bytes.into_bytes().ok_or_else(|| LogError::Refused("not base64".to_owned()))?;
        if Id::of(parent, encoding, &bytes) != id {
            return Err(LogError::Refused(format!("message {} was changed: it no longer has its id", id.short())));
        }
        let (role, tokens, counter, time) = (line.role, line.tokens, line.counter, line.time);
        let entry = Entry { id, position: 0, role, encoding, bytes, tokens, counter, time };
        let text = searchable(&entry.message(self.parse));
        let Entry { bytes, counter, .. } = entry;
        self.chain.incoming.push(Incoming { role, encoding, bytes, tokens, counter, text, time: Some(time) });
        self.chain.last = Some(id);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let chain = std::mem::take(&mut self.chain);
        if chain.incoming.is_empty() {
            return Ok(());
        }
        let parent = chain.parent.map(|id| id.to_string());
        let tip = self.find(parent.as_deref())?;
        self.added.messages += grow(self.connection, tip, &chain.incoming, self.now)?.new as u64;
        Ok(())
    }

    /// The place of a message that some line names.
    fn find(&mut self, id: Option<&str>) -> Result<Tip> {
        let Some(id) = id else { return Ok(Tip::EMPTY) };
        let tip = place(self.connection, id.parse()?)?;
        tip.ok_or_else(|| LogError::Missing { what: "message", id: id.to_owned() })
    }

    fn session(&mut self, line: SessionLine) -> Result<()> {
        let tip = self.find(line.tip.as_deref())?;
        let made = Session {
            title: line.title,
            user: line.user,
            parent: line.parent,
            relation: Relation::named(&line.relation),
            context_id: line.context_id,
            parent_context: line.parent_context,
            model: line.model,
            policy: line.policy,
            overrides: line.overrides,
            state: line.state,
            tip,
            created: line.created,
            active: line.active,
            ..Session::new(line.id)
        };
        if session::insert(self.connection, &made)? {
            self.added.sessions += 1;
        } else {
            self.go_on(&made, tip)?;
        }
        for cut in line.cuts {
            let cut = self.find(Some(&cut))?;
            let sql = "INSERT INTO cut (session, branch, position, created) VALUES ($1, $2, $3, $4) \
                       ON CONFLICT (session, branch, position) DO NOTHING";
            self.connection.run(sql, values![&made.id, cut.branch, cut.position, self.now])?;
        }
        for left in line.left {
            self.left(&made.id, &left, tip)?;
        }
        Ok(())
    }

    /// The session is there: it goes on, unless it went another way.
    fn go_on(&mut self, made: &Session, tip: Tip) -> Result<()> {
        let known = session::load(self.connection, &made.id)?;
        if known.tip == tip {
            return Ok(());
        }
        if Path::of(self.connection, tip)?.contains(known.tip) {
            session::set_tip(self.connection, &known, tip, known.frozen, made.active)?;
            self.added.continued += 1;
        } else if !Path::of(self.connection, known.tip)?.contains(tip) {
            self.added.kept.push(made.id.clone());
        }
        Ok(())
    }

    /// A way that the session left, unless it is known.
    fn left(&mut self, session: &str, message: &str, to: Tip) -> Result<()> {
        let tip = self.find(Some(message))?;
        let sql = "SELECT COUNT(*) FROM move WHERE session = $1 AND from_branch = $2 AND from_position = $3";
        if self.connection.number(sql, values![session, tip.branch, tip.position])? > 0 {
            return Ok(());
        }
        let sql = "INSERT INTO move (session, number, kind, from_branch, from_position, to_branch, to_position, created) \
                   SELECT $1, COALESCE(MAX(number), 0) + 1, 'rewind', $2, $3, $4, $5, $6 FROM move WHERE session = $1";
        let values = values![session, tip.branch, tip.position, to.branch, to.position, self.now];
        self.connection.run(sql, values).map(drop)
    }

    /// A step is put behind the newest one, unless the session has one that covers as much.
    fn step(&mut self, line: SentLine) -> Result<()> {
        let at = self.find(line.at.as_deref())?;
        let session = session::load(self.connection, &line.session)?;
        let newest = frozen::newest_on(self.connection, session.frozen, session.tip)?;
        let known = newest.map(|key| frozen::step_at(self.connection, key)).transpose()?;
        if known.is_some_and(|(tip, number)| tip.position >= at.position && number >= line.head.number) {
            return Ok(());
        }
        let step = Sent { head: line.head, past: line.past, slots: line.slots, fold: line.fold.map(fold_of) };
        let key = frozen::add(self.connection, &session, at, &step, self.now)?;
        let sql = "UPDATE session SET frozen = $1 WHERE id = $2";
        self.connection.run(sql, values![key, &session.id]).map(drop)
    }

    fn summary(&mut self, line: SummaryLine) -> Result<()> {
        let until = self.find(Some(&line.until))?;
        let target = line.target.as_deref().map(str::parse::<Id>).transpose()?;
        let sql = "INSERT INTO summary (session, version, start, branch, position, target, generation, text, tokens, \
                   original_tokens, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
                   ON CONFLICT (session, version) DO NOTHING";
        let values = values![
            &line.session,
            line.version,
            line.start,
            until.branch,
            until.position,
            target,
            line.generation,
            &line.text,
            line.tokens,
            line.original_tokens,
            line.time
        ];
        self.connection.run(sql, values).map(drop)
    }
}

fn fold_of(line: FoldLine) -> Fold {
    Fold {
        reason: line.reason,
        tokens_before: line.tokens_before,
        tokens_after: line.tokens_after,
        cost_before: line.cost_before,
        cost_after: line.cost_after,
    }
}
