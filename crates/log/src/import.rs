//! Taking in what [`Log::export`] wrote. Importing the same twice adds nothing; a line that was
//! changed is refused, since its message no longer has the id it says.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use waterline::message::{Message, Role, Wire};

use crate::artifact::{self, Artifact};
use crate::checkpoint::{self, Checkpoint, Stored};
use crate::clear::add_cut;
use crate::encoding::Encoding;
use crate::entry::Entry;
use crate::error::{LogError, Result};
use crate::format_1::Format1State;
use crate::frozen::{self, Sent};
use crate::generation;
use crate::id::Id;
use crate::incoming::Incoming;
use crate::line::{
    JobLine, Line, MessageLine, SentLine, SessionLine, SummaryLine, ToolsLine, UsageLine, VERSION,
};
use crate::log::Log;
use crate::navigate::left;
use crate::search_terms::searchable;
use crate::session::{self, Document, Relation, Session};
use crate::store::{Connection, values};
use crate::toolset;
use crate::tree::{Path, Tip, grow, place};

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
    /// Sessions that have gone another way here, and stay: what was imported became a fork.
    pub forked: Vec<String>,
}

/// Reads the JSON of a wire: what can be searched of a message is in there.
pub type Parse = fn(Arc<String>, Wire, Role) -> Option<Message>;

/// What is known of an import from the lines before.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The version of its lines.
    version: u32,
    /// Its sessions, by the ids that its lines name.
    homes: HashMap<String, Home>,
    /// Tool definitions, by their hashes. They are stored with the first session that is held with
    /// them.
    tools: HashMap<String, Arc<Vec<u8>>>,
}

/// Where the lines of a session belong.
#[derive(Clone, Debug)]
struct Home {
    id: String,
    /// Messages beyond this are new: so is what the lines say about them. A session that had
    /// everything takes nothing.
    known: Option<u64>,
}

impl Log {
    /// Takes in lines that [`Log::export`] wrote. `progress` hears how many bytes were read.
    ///
    /// # Errors
    /// When a line cannot be read, a message does not have the id it says, or the end is missing.
    /// What was taken in before stays; importing again goes on from there.
    pub fn import(
        &self,
        mut from: impl BufRead,
        parse: Parse,
        mut progress: impl FnMut(u64),
    ) -> Result<Imported> {
        let mut imported = Imported::default();
        let mut known = Known::default();
        let mut batch: Vec<(usize, Line)> = Vec::new();
        let (mut read, mut size, mut lines, mut text) = (0, 0, 0, Vec::new());
        let mut ended = false;
        loop {
            text.clear();
            let length = from.read_until(b'\n', &mut text)?;
            if length == 0 {
                break;
            }
            (read, size, lines) = (read + length as u64, size + length, lines + 1);
            if text.trim_ascii().is_empty() {
                continue;
            }
            let line = serde_json::from_slice(&text)
                .map_err(|error| refused(lines, format!("not a line of an export: {error}")))?;
            check_first(lines, &line)?;
            ended = matches!(line, Line::End(_));
            batch.push((lines, line));
            if batch.len() >= LINES || size >= BYTES {
                known = self.take(std::mem::take(&mut batch), parse, known, &mut imported)?;
                size = 0;
                progress(read);
            }
        }
        self.take(batch, parse, known, &mut imported)?;
        progress(read);
        if ended || lines == 0 {
            return Ok(imported);
        }
        Err(refused(
            lines,
            "the export ends here and was cut off; what came before is stored".to_owned(),
        ))
    }

    fn take(
        &self,
        batch: Vec<(usize, Line)>,
        parse: Parse,
        known: Known,
        imported: &mut Imported,
    ) -> Result<Known> {
        let now = self.now();
        let (added, known) = self.write(move |connection| {
            let (added, chain, known) = (Imported::default(), Chain::default(), known.clone());
            let mut import = Import { connection, parse, now, added, chain, known };
            for (number, line) in &batch {
                import.line(line.clone()).map_err(|error| at_line(*number, error))?;
            }
            let last = batch.last().map_or(0, |(number, _)| *number);
            import.flush().map_err(|error| at_line(last, error))?;
            Ok((import.added, import.known))
        })?;
        imported.messages += added.messages;
        imported.sessions += added.sessions;
        imported.continued += added.continued;
        imported.forked.extend(added.forked);
        Ok(known)
    }
}

fn refused(line: usize, text: String) -> LogError {
    LogError::Line { line, text }
}

/// What is wrong with what a line says is said with its number; what is wrong with the log is not.
fn at_line(number: usize, error: LogError) -> LogError {
    match error {
        LogError::Refused(text) => refused(number, text),
        LogError::NoId { .. } | LogError::Missing { .. } | LogError::NoSession { .. } => {
            refused(number, error.to_string())
        }
        other => other,
    }
}

fn check_first(number: usize, line: &Line) -> Result<()> {
    match (number, line) {
        (1, Line::Waterline(1..=VERSION)) => Ok(()),
        (1, Line::Waterline(newer)) => {
            Err(refused(1, format!("an export of version {newer}; this program knows {VERSION}")))
        }
        (1, _) => Err(refused(1, "not an export: its first line does not say so".to_owned())),
        _ => Ok(()),
    }
}

/// Messages that follow each other, waiting to be put in together.
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
    known: Known,
}

impl Import<'_> {
    fn line(&mut self, line: Line) -> Result<()> {
        if let Line::Message(line) = line {
            return self.message(*line);
        }
        self.flush()?;
        match line {
            Line::Waterline(version) => {
                self.known.version = version;
                Ok(())
            }
            Line::Message(_) | Line::End(_) => Ok(()),
            Line::Tools(line) => self.tools(*line),
            Line::Session(line) => self.session(*line),
            Line::Sent(line) => self.sent(*line),
            Line::Generation(line) => {
                let at = self.find(line.at.as_deref())?;
                match self.home(&line.session, at.position)? {
                    Some(id) => generation::note(
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
            Line::Artifact(line) => {
                let bytes = line
                    .bytes
                    .into_bytes()
                    .ok_or_else(|| LogError::Refused("not base64".to_owned()))?;
                let (media, preview, size) = (line.media, line.preview, bytes.len() as u64);
                let made = Artifact { hash: String::new(), media, preview, size, time: line.time };
                let id = self.id_of(&line.session)?;
                artifact::put(self.connection, &id, &made, &bytes)
            }
            Line::Job(line) => self.job(*line),
            Line::Preference(line) => {
                // What is set here stays as it is.
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
        let encoding = Encoding::named(&line.encoding)
            .ok_or_else(|| LogError::Refused(format!("{:?} is no encoding", line.encoding)))?;
        let bytes =
            line.bytes.into_bytes().ok_or_else(|| LogError::Refused("not base64".to_owned()))?;
        if Id::of(parent, line.role, encoding, &bytes) != id {
            return Err(LogError::Refused(format!(
                "message {} was changed: it no longer has its id",
                id.short()
            )));
        }
        let (role, tokens, counter, time) = (line.role, line.tokens, line.counter, line.time);
        let entry = Entry { id, position: 0, role, encoding, bytes, tokens, counter, time };
        let text = searchable(&entry.message(self.parse));
        let Entry { bytes, counter, .. } = entry;
        self.chain.messages.push(Incoming {
            role,
            encoding,
            bytes,
            tokens,
            counter,
            text,
            time: Some(time),
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
        let tip = self.find(parent.as_deref())?;
        self.added.messages += grow(self.connection, tip, &chain.messages, self.now)?.new as u64;
        Ok(())
    }

    /// The place of a message that some line names.
    fn find(&mut self, id: Option<&str>) -> Result<Tip> {
        let Some(id) = id else { return Ok(Tip::EMPTY) };
        let tip = place(self.connection, id.parse()?)?;
        tip.ok_or_else(|| LogError::Missing { what: "message", id: id.to_owned() })
    }

    /// The session that a line belongs to.
    fn id_of(&self, session: &str) -> Result<String> {
        let home = self.known.homes.get(session).map(|home| home.id.clone());
        home.ok_or_else(|| LogError::NoSession { id: session.to_owned() })
    }

    /// The session that a line belongs to, if what it says about a place is new there.
    fn home(&self, session: &str, position: u64) -> Result<Option<String>> {
        let id = self.id_of(session)?;
        let known = self.known.homes.get(session).and_then(|home| home.known);
        Ok(known.is_some_and(|known| position > known || known == 0).then_some(id))
    }

    fn session(&mut self, line: SessionLine) -> Result<()> {
        session::check_id(&line.id)?;
        let (named, tip) = (line.id.clone(), self.find(line.tip.as_deref())?);
        // The ways that it left are from elsewhere too: somebody may go over to them.
        let left = line
            .left
            .iter()
            .map(|left| self.find(Some(left.as_str())).map_or(0, |tip| tip.position));
        let messages = left.max().unwrap_or(0).max(tip.position);
        let (state, tools) = self.carried(line.state, line.tools)?;
        let mut made = Session {
            title: line.title,
            user: line.user,
            parent: line.parent,
            relation: Relation::named(&line.relation),
            context_id: line.context_id,
            parent_context: line.parent_context,
            model: line.model,
            policy: line.policy,
            overrides: line.overrides,
            state,
            imported: messages,
            tools,
            tip,
            created: line.created,
            active: line.active,
            ..Session::new(line.id)
        };
        let known = self.settle(&mut made)?;
        self.known.homes.insert(named, Home { id: made.id.clone(), known });
        if known.is_some() {
            for cut in line.cuts {
                let cut = self.find(Some(&cut))?;
                add_cut(self.connection, &made.id, cut, self.now)?;
            }
            for left in line.left {
                self.left(&made.id, &left, tip)?;
            }
        }
        Ok(())
    }

    /// The state and the tools that a line brings. Consent and directories of another machine are
    /// no part of them.
    fn carried(
        &mut self,
        state: Document,
        tools: Option<String>,
    ) -> Result<(Document, Option<String>)> {
        let (state, definitions) = match self.known.version {
            1 => {
                let flat = Format1State::of(state);
                (flat.state, flat.tools.map(|tools| Arc::new(tools.into_bytes())))
            }
            _ => (state, tools.and_then(|hash| self.known.tools.get(&hash).cloned())),
        };
        let hash = match definitions {
            Some(definitions) => Some(toolset::name(&toolset::put(self.connection, &definitions)?)),
            None => None,
        };
        Ok((state, hash))
    }

    fn tools(&mut self, line: ToolsLine) -> Result<()> {
        let bytes =
            line.bytes.into_bytes().ok_or_else(|| LogError::Refused("not base64".to_owned()))?;
        if blake3::hash(&bytes).to_hex().as_str() != line.hash {
            return Err(LogError::Refused(
                "the tool definitions were changed: they no longer have their hash".to_owned(),
            ));
        }
        self.known.tools.insert(line.hash, Arc::new(bytes));
        Ok(())
    }

    /// Makes the session, or lets the one that is there go on; where that went another way, a fork
    /// of it is made. Gives the number of messages that were known; nothing where all were.
    fn settle(&mut self, made: &mut Session) -> Result<Option<u64>> {
        if session::insert(self.connection, made)? {
            self.added.sessions += 1;
            return Ok(Some(0));
        }
        let known = session::load(self.connection, &made.id)?;
        let mut ways = vec![known.tip];
        ways.extend(left(self.connection, &known.id)?);
        for way in ways {
            if Path::of(self.connection, way)?.contains(made.tip) {
                return Ok(None);
            }
        }
        if Path::of(self.connection, made.tip)?.contains(known.tip) {
            if !session::put(self.connection, &known, made.tip, known.frozen, made.active)? {
                return Err(self.connection.race());
            }
            // What was granted was granted to what is now another conversation.
            let sql = "UPDATE session SET title = $1, state = $2, local = '{}', workspace = NULL, imported = $3, \
                       tools = COALESCE($4, tools) WHERE id = $5";
            let (state, tools) =
                (session::text(&made.state), made.tools.as_deref().and_then(toolset::hash));
            self.connection
                .run(sql, values![&made.title, state, made.imported, tools, &made.id])?;
            self.added.continued += 1;
            return Ok(Some(known.tip.position));
        }
        let end =
            crate::tree::id_at(self.connection, made.tip)?.map(|id| id.short()).unwrap_or_default();
        made.parent = Some(known.id.clone());
        made.relation = Relation::Fork;
        made.id = format!("{}-{end}", known.id);
        if !session::insert(self.connection, made)? {
            return Ok(None);
        }
        self.added.forked.push(known.id);
        Ok(Some(0))
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

    fn sent(&mut self, line: SentLine) -> Result<()> {
        let at = self.find(line.at.as_deref())?;
        let Some(id) = self.home(&line.session, at.position)? else { return Ok(()) };
        let session = session::load(self.connection, &id)?;
        if !Path::of(self.connection, session.tip)?.contains(at) {
            return Err(LogError::Refused(format!("what session {id} sent is not on its way")));
        }
        let SentLine { cleared, head, past, slots, fold, time, .. } = line;
        let key = frozen::add(
            self.connection,
            &session,
            at,
            &Sent { cleared, head, past, slots, fold },
            time,
        )?;
        self.connection
            .run("UPDATE session SET frozen = $1 WHERE id = $2", values![key, &id])
            .map(drop)
    }

    fn summary(&mut self, line: SummaryLine) -> Result<()> {
        let until = self.find(Some(&line.until))?;
        let Some(id) = self.home(&line.session, until.position)? else { return Ok(()) };
        let target = line.target.as_deref().map(str::parse::<Id>).transpose()?;
        let sql = "INSERT INTO summary (session, version, start, branch, position, target, generation, text, tokens, \
                   original_tokens, created) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
                   ON CONFLICT (session, version) DO NOTHING";
        let values = values![
            &id,
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

    fn checkpoint(&mut self, line: Checkpoint) -> Result<()> {
        let Some(thread_id) = self.home(&line.thread_id, line.checkpoint.messages)? else {
            return Ok(());
        };
        let tip = self.find(line.checkpoint.message.as_deref())?;
        let state = match self.known.version {
            1 => Format1State::of(line.checkpoint.state).state,
            _ => line.checkpoint.state,
        };
        let made =
            Checkpoint { thread_id, checkpoint: Stored { state, ..line.checkpoint }, ..line };
        checkpoint::insert(self.connection, &made, tip).map(drop)
    }

    fn usage(&mut self, line: UsageLine) -> Result<()> {
        let Some(id) = self.home(&line.session, line.usage.position)? else { return Ok(()) };
        crate::usage::insert_as(self.connection, &id, line.number, &line.usage).map(drop)
    }

    fn job(&mut self, line: JobLine) -> Result<()> {
        let Some(session) = &line.session else { return Ok(()) };
        let id = self.id_of(session)?;
        let is_new = self.known.homes.get(session).is_some_and(|home| home.known == Some(0));
        if is_new {
            crate::job::insert(self.connection, &line.kind, Some(&id), &line.payload, self.now)?;
        }
        Ok(())
    }
}
