//! Exports sessions as JSON Lines. An import into any log gives the messages the same ids. Damaged
//! data is left out and reported; everything else is exported.

mod path;
mod rows;
mod tables;

use std::collections::{HashMap, HashSet};
use std::io::Write;

use waterline::message::Role;

use crate::entry::each_of_run;
use crate::error::Result;
use crate::id::Id;
use crate::line::{Bytes, Line, MessageLine, SessionLine, VERSION};
use crate::log::Log;
use crate::session::{Document, Session};
use crate::store::{Connection, checksum};
use crate::tree::{Path, Run, Tip, id_at};
use waterline::phrase;
use waterline::phrase::Phrase;

/// The result of [`Log::export`]. The export is complete if `damaged` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of exported sessions.
    pub sessions: u64,
    /// Number of exported messages. A message that sessions share counts once.
    pub messages: u64,
    /// Number of system prompts among the messages.
    pub prompts: u64,
    /// The damaged data that was left out, one line of text each.
    pub damaged: Vec<Phrase>,
}

impl Log {
    /// Writes sessions to `out` as JSON Lines, which [`Log::import`] reads. With no session ids,
    /// exports all sessions and the users' preferences.
    ///
    /// Messages that sessions share are written once. Damaged data is left out and listed in
    /// [`Exported::damaged`]: a session with a damaged message is exported up to that message, and
    /// one whose own row is damaged without its state and settings. [`Session::local`], workspaces
    /// and failed jobs are never exported.
    ///
    /// # Errors
    /// If a session does not exist, the log cannot be read, or writing to `out` fails.
    pub fn export(&self, sessions: &[String], out: &mut dyn Write) -> Result<Exported> {
        self.read(|connection| {
            let mut export = Export {
                connection,
                out,
                written: HashMap::new(),
                tools: HashSet::new(),
                damaged_tables: HashSet::new(),
                rows: HashMap::new(),
                starts: HashMap::new(),
                report: Exported::default(),
            };
            export.report.damaged.extend(self.store().format_damage());
            export.check_tables()?;
            let all = sessions.is_empty();
            let sessions = export.sessions(sessions)?;
            export.line(&Line::Waterline(VERSION))?;
            let count = sessions.len() as u64;
            for (session, is_intact) in sessions {
                let id = session.id.clone();
                let written = export.session(session, is_intact);
                export.skip_damaged(&id, written)?;
            }
            if all {
                export.preferences()?;
            }
            export.line(&Line::End(count))?;
            export.report.sessions = count;
            Ok(export.report)
        })
    }
}

struct Export<'a> {
    connection: &'a mut dyn Connection,
    out: &'a mut dyn Write,
    /// The last written position of each branch.
    written: HashMap<i64, u64>,
    /// The hashes of the written tool definitions.
    tools: HashSet<String>,
    /// The tables that do not match their indexes.
    damaged_tables: HashSet<&'static str>,
    /// The rows of damaged tables, as far as they were read.
    rows: HashMap<&'static str, tables::Rows>,
    /// Where branches start; `None` if that cannot be found.
    starts: HashMap<i64, Option<Tip>>,
    report: Exported,
}

impl Export<'_> {
    fn line(&mut self, line: &Line) -> Result<()> {
        write_line(self.out, line)
    }

    /// Records that something of a session is damaged and was left out.
    fn note(&mut self, session: &str, text: Phrase) {
        self.report.damaged.push(phrase!(
            "damage-in-session",
            "session {session}: {text}",
            session = session,
            text = text
        ));
    }

    /// Records an error about damage, so that the export continues without that data.
    fn skip_damaged<T>(&mut self, session: &str, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.may_be_damage() => {
                self.note(session, error.damage());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn session(&mut self, session: Session, is_intact: bool) -> Result<()> {
        let session = if is_intact {
            session
        } else {
            let text = phrase!(
                "damage-session-row",
                "its title, state, settings or last message are damaged"
            );
            self.note(&session.id, text);
            undamaged_part(session)
        };
        let id = session.id.clone();
        let left = self.tips(&checksum::MOVE, &id, "from_branch, from_position", "number")?;
        let clear_marks = self.tips(&checksum::CLEAR_MARK, &id, "branch, position", "position")?;
        let tip = self.messages(&id, session.tip)?;
        for &tip in &left {
            self.messages(&id, tip)?;
        }
        let tools = match &session.tools {
            Some(hash) => {
                let written = self.tools(hash);
                self.skip_damaged(&id, written)?.map(|()| hash.clone())
            }
            None => None,
        };
        let line = SessionLine {
            id: session.id.clone(),
            tip: self.written_id(tip)?,
            title: session.title.clone(),
            user: session.user.clone(),
            parent: session.parent.clone(),
            relation: session.relation.name().to_owned(),
            context_id: session.context_id.clone(),
            parent_context: session.parent_context.clone(),
            model: session.model.clone(),
            policy: session.policy.clone(),
            overrides: session.overrides.clone(),
            state: session.state.clone(),
            tools,
            created: session.created,
            active: session.active,
            cuts: self.written_ids(&clear_marks)?,
            left: self.written_ids(&left)?,
        };
        self.line(&Line::Session(Box::new(line)))?;
        self.rows_of(&session)
    }

    /// Returns the tips in two columns of a table that belong to a session.
    fn tips(
        &mut self,
        table: &checksum::Table,
        session: &str,
        columns: &str,
        order: &str,
    ) -> Result<Vec<Tip>> {
        let rows = self.intact_rows(table, columns, ("session", session), order)?;
        Ok(rows.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) }).collect())
    }

    /// Returns the id of the message at `tip` if it has been written.
    fn written_id(&mut self, tip: Tip) -> Result<Option<String>> {
        let is_written = self.written.get(&tip.branch).is_some_and(|&upto| tip.position <= upto);
        if !is_written {
            return Ok(None);
        }
        match id_at(self.connection, tip) {
            Ok(id) => Ok(id.map(|id| id.to_string())),
            // The message was just read, so the damage is elsewhere and was recorded.
            Err(error) if error.may_be_damage() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn written_ids(&mut self, tips: &[Tip]) -> Result<Vec<String>> {
        let ids = tips.iter().map(|&tip| self.written_id(tip)).collect::<Result<Vec<_>>>()?;
        Ok(ids.into_iter().flatten().collect())
    }

    /// Writes the messages up to `tip` that have not been written yet. Returns the last message
    /// before any damage.
    fn messages(&mut self, session: &str, tip: Tip) -> Result<Tip> {
        let Some(path) = self.path(session, tip)? else {
            self.note(session, phrase!("damage-path", "its messages cannot be found"));
            return Ok(Tip::EMPTY);
        };
        for run in path.runs(0).collect::<Vec<_>>() {
            let before = self.written.get(&run.branch).copied().unwrap_or(run.after);
            if before >= run.upto {
                continue;
            }
            let (upto, outcome) = match self.parent(&path, before) {
                Ok(parent) => self.run(Run { after: before, ..run }, parent),
                Err(error) => (before, Err(error)),
            };
            self.written.insert(run.branch, upto);
            self.report.messages += upto - before;
            let problem = match outcome {
                Ok(()) if upto == run.upto => continue,
                Ok(()) => phrase!("damage-gap", "a message is missing"),
                Err(error) if error.may_be_damage() => error.damage(),
                Err(error) => return Err(error),
            };
            self.report.damaged.push(phrase!(
                "damage-after",
                "session {session}, after message {position}: {problem}",
                session = session,
                position = upto.to_string(),
                problem = problem
            ));
            return Ok(path.at(upto).unwrap_or(Tip::EMPTY));
        }
        Ok(tip)
    }

    /// Returns the id of the message at a position of a path.
    fn parent(&mut self, path: &Path, position: u64) -> Result<Option<Id>> {
        path.at(position).map_or(Ok(None), |tip| id_at(self.connection, tip))
    }

    /// Writes the messages of a run up to the first that is damaged, and returns the last written
    /// position.
    fn run(&mut self, run: Run, mut parent: Option<Id>) -> (u64, Result<()>) {
        let mut upto = run.after;
        let mut prompts = 0;
        let damaged =
            self.connection.damaged(phrase!("damage-order", "the next message does not follow it"));
        let out = &mut *self.out;
        let outcome = each_of_run(self.connection, run, &mut |entry| {
            let id = Id::of(parent, entry.role, entry.encoding, &entry.bytes);
            if entry.id != id || entry.position != upto + 1 {
                return Err(damaged.clone());
            }
            let line = MessageLine {
                id: entry.id.to_string(),
                parent: parent.map(|id| id.to_string()),
                role: entry.role,
                encoding: entry.encoding.name().to_owned(),
                bytes: Bytes::of(entry.bytes),
                tokens: entry.tokens,
                counter: entry.counter,
                time: entry.time,
            };
            write_line(out, &Line::Message(Box::new(line)))?;
            prompts += u64::from(entry.role == Role::System);
            parent = Some(entry.id);
            upto = entry.position;
            Ok(())
        });
        self.report.prompts += prompts;
        (upto, outcome)
    }
}

/// Returns a session whose row is damaged, without the values that could have an effect: any of
/// them may be wrong.
fn undamaged_part(session: Session) -> Session {
    Session {
        model: None,
        policy: None,
        overrides: Default::default(),
        state: Document::new(),
        tools: None,
        request_context: None,
        ..session
    }
}

fn write_line(out: &mut dyn Write, line: &Line) -> Result<()> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
