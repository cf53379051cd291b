//! Sessions as lines of JSON: complete, and with the same ids wherever they are imported.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use crate::entry::each_of_run;
use crate::error::{LogError, Result};
use crate::frozen::{self, Stored};
use crate::generation::{FOLD, Fold};
use crate::id::Id;
use crate::line::{
    ArtifactLine, Bytes, GenerationLine, JobLine, Line, MessageLine, PreferenceLine, SentLine,
    SessionLine, SummaryLine, ToolsLine, UsageLine, VERSION,
};
use crate::log::Log;
use crate::session::{self, Filter, Session};
use crate::store::{Connection, values};
use crate::toolset;
use crate::tree::{Path, Run, Tip, id_at};

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Sessions.
    pub sessions: u64,
    /// Messages, each once.
    pub messages: u64,
    /// What could not be read and is left out, each in a sentence.
    pub damaged: Vec<String>,
}

impl Log {
    /// Writes sessions, or everything where none is named, as lines of JSON. What several of them
    /// share is written once. Of a session with a damaged message, what comes before it is written.
    ///
    /// # Errors
    /// When a session is not there, or `out` takes nothing more.
    pub fn export(&self, sessions: &[String], out: &mut dyn Write) -> Result<Exported> {
        self.read(|connection| {
            let all = sessions.is_empty();
            let sessions = if all {
                session::list(connection, &Filter::default())?
            } else {
                sessions.iter().map(|id| session::load(connection, id)).collect::<Result<_>>()?
            };
            let (written, tools, done) = (HashMap::new(), HashSet::new(), Exported::default());
            let mut export = Export { connection, out, written, tools, done };
            export.line(&Line::Waterline(VERSION))?;
            sessions.iter().try_for_each(|session| export.session(session))?;
            if all {
                export.preferences()?;
            }
            export.line(&Line::End(sessions.len() as u64))?;
            export.done.sessions = sessions.len() as u64;
            Ok(export.done)
        })
    }
}

struct Export<'a> {
    connection: &'a mut dyn Connection,
    out: &'a mut dyn Write,
    /// Of each branch, how far its messages have been written.
    written: HashMap<i64, u64>,
    /// The tool definitions that have been written, by their hashes.
    tools: HashSet<String>,
    done: Exported,
}

impl Export<'_> {
    fn line(&mut self, line: &Line) -> Result<()> {
        write_line(self.out, line)
    }

    fn session(&mut self, session: &Session) -> Result<()> {
        let left = self.tips(
            "SELECT from_branch, from_position FROM move WHERE session = $1 ORDER BY number",
            &session.id,
        )?;
        let cuts = self.tips(
            "SELECT branch, position FROM cut WHERE session = $1 ORDER BY position",
            &session.id,
        )?;
        let tip = self.messages(&session.id, session.tip)?;
        for &tip in &left {
            self.messages(&session.id, tip)?;
        }
        let tools = self.tools(session)?;
        let line = SessionLine {
            id: session.id.clone(),
            tip: self.name(tip)?,
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
            cuts: self.names(&cuts)?,
            left: self.names(&left)?,
        };
        self.line(&Line::Session(Box::new(line)))?;
        let sent = self.sent(session)?;
        self.generations(session, &sent)?;
        self.summaries(session)?;
        self.checkpoints(session)?;
        self.usage(session)?;
        self.artifacts(session)?;
        self.jobs(session)
    }

    /// Writes the tool definitions of a session, unless they have been, and gives their hash.
    fn tools(&mut self, session: &Session) -> Result<Option<String>> {
        let Some(hash) = session.tools.clone().filter(|hash| !self.tools.contains(hash)) else {
            return Ok(session.tools.clone());
        };
        match toolset::read(self.connection, &hash) {
            Ok(bytes) => {
                self.line(&Line::Tools(Box::new(ToolsLine {
                    hash: hash.clone(),
                    bytes: Bytes::of(bytes),
                })))?;
                self.tools.insert(hash.clone());
                Ok(Some(hash))
            }
            Err(LogError::Damaged { text, .. }) => {
                self.done.damaged.push(format!("session {}: {text}", session.id));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn tips(&mut self, sql: &str, session: &str) -> Result<Vec<Tip>> {
        let rows = self.connection.rows(sql, values![session])?;
        Ok(rows.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) }).collect())
    }

    /// The id of the message at a place, if that message has been written.
    fn name(&mut self, tip: Tip) -> Result<Option<String>> {
        let is_written = self.written.get(&tip.branch).is_some_and(|&upto| tip.position <= upto);
        Ok(if is_written { id_at(self.connection, tip)?.map(|id| id.to_string()) } else { None })
    }

    fn names(&mut self, tips: &[Tip]) -> Result<Vec<String>> {
        let names = tips.iter().map(|&tip| self.name(tip)).collect::<Result<Vec<_>>>()?;
        Ok(names.into_iter().flatten().collect())
    }

    /// Writes the messages that lead to a place, as far as they have not been written, and gives
    /// the last one that could be.
    fn messages(&mut self, session: &str, tip: Tip) -> Result<Tip> {
        let path = Path::of(self.connection, tip)?;
        for run in path.runs(0).collect::<Vec<_>>() {
            let done = self.written.get(&run.branch).copied().unwrap_or(run.after);
            if done >= run.upto {
                continue;
            }
            let parent = match path.at(done) {
                Some(before) => id_at(self.connection, before)?,
                None => None,
            };
            let (upto, outcome) = self.run(Run { after: done, ..run }, parent);
            self.written.insert(run.branch, upto);
            self.done.messages += upto - done;
            match outcome {
                Ok(()) => {}
                Err(LogError::Damaged { text, .. }) => {
                    self.done
                        .damaged
                        .push(format!("session {session}, behind message {upto}: {text}"));
                    return Ok(path.at(upto).unwrap_or(Tip::EMPTY));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(tip)
    }

    /// Writes the messages of a run and says how far it came.
    fn run(&mut self, run: Run, mut parent: Option<Id>) -> (u64, Result<()>) {
        let mut upto = run.after;
        let out = &mut *self.out;
        let outcome = each_of_run(self.connection, run, &mut |entry| {
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
            parent = Some(entry.id);
            upto = entry.position;
            Ok(())
        });
        (upto, outcome)
    }

    /// Writes what was sent, and gives the generations that it belongs to.
    fn sent(&mut self, session: &Session) -> Result<HashSet<i64>> {
        let mut generations = HashSet::new();
        for Stored { tip, generation, time, sent } in
            frozen::steps(self.connection, session.frozen)?
        {
            let at = self.name(tip)?;
            if at.is_none() && tip != Tip::EMPTY {
                break;
            }
            generations.insert(generation);
            self.line(&Line::Sent(Box::new(SentLine {
                session: session.id.clone(),
                at,
                cleared: sent.cleared,
                head: sent.head,
                past: sent.past,
                slots: sent.slots,
                fold: sent.fold,
                time,
            })))?;
        }
        Ok(generations)
    }

    /// The folds that are not among what was sent: another program made them, or they were taken
    /// back.
    fn generations(&mut self, session: &Session, sent: &HashSet<i64>) -> Result<()> {
        let sql = format!(
            "SELECT g.branch, g.position, g.number, g.created, g.key, {FOLD} FROM generation g \
             WHERE g.session = $1 AND g.number > 0 ORDER BY g.key"
        );
        for mut row in self.connection.rows(&sql, values![&session.id])? {
            let at = self.name(Tip { branch: row.int(0), position: row.count(1) })?;
            if sent.contains(&row.int(4)) || at.is_none() {
                continue;
            }
            let fold = Fold::of(&mut row, 5);
            let (session, number, time) = (session.id.clone(), row.count(2), row.int(3));
            self.line(&Line::Generation(Box::new(GenerationLine {
                session,
                at,
                number,
                time,
                fold,
            })))?;
        }
        Ok(())
    }

    fn summaries(&mut self, session: &Session) -> Result<()> {
        let sql = "SELECT version, start, branch, position, target, generation, text, tokens, original_tokens, created \
                   FROM summary WHERE session = $1 ORDER BY version";
        for mut row in self.connection.rows(sql, values![&session.id])? {
            let Some(until) = self.name(Tip { branch: row.int(2), position: row.count(3) })? else {
                continue;
            };
            self.line(&Line::Summary(Box::new(SummaryLine {
                session: session.id.clone(),
                version: row.count(0),
                start: row.count(1),
                until,
                target: Id::stored(&row.bytes(4)).map(|id| id.to_string()),
                generation: row.maybe_int(5).and_then(|number| u64::try_from(number).ok()),
                text: row.text(6),
                tokens: row.size(7),
                original_tokens: row.size(8),
                time: row.int(9),
            })))?;
        }
        Ok(())
    }

    fn checkpoints(&mut self, session: &Session) -> Result<()> {
        let made = crate::checkpoint::of_session(self.connection, &session.id)?;
        made.into_iter().try_for_each(|made| self.line(&Line::Checkpoint(Box::new(made))))
    }

    fn usage(&mut self, session: &Session) -> Result<()> {
        let usage = crate::usage::of_session(self.connection, &session.id)?;
        usage.into_iter().zip(1..).try_for_each(|(usage, number)| {
            self.line(&Line::Usage(Box::new(UsageLine {
                session: session.id.clone(),
                number,
                usage,
            })))
        })
    }

    fn artifacts(&mut self, session: &Session) -> Result<()> {
        let out = &mut *self.out;
        let damaged = &mut self.done.damaged;
        let sql = "SELECT a.media, a.preview, a.created, a.packed, a.bytes, a.size FROM artifact_use u \
                   JOIN artifact a ON a.hash = u.hash WHERE u.session = $1 ORDER BY a.created, a.hash";
        self.connection.each(sql, values![&session.id], &mut |mut row| {
            let (media, preview, time) = (row.text(0), row.text(1), row.int(2));
            match crate::compress::unpack(row.int(3), row.bytes(4), row.size(5)) {
                Some(bytes) => {
                    let (session, bytes) = (session.id.clone(), Bytes::of(bytes));
                    write_line(
                        out,
                        &Line::Artifact(Box::new(ArtifactLine {
                            session,
                            media,
                            preview,
                            time,
                            bytes,
                        })),
                    )
                }
                None => {
                    damaged.push(format!("session {}: an artifact of {media}", session.id));
                    Ok(())
                }
            }
        })
    }

    fn jobs(&mut self, session: &Session) -> Result<()> {
        let sql =
            "SELECT kind, payload FROM job WHERE session = $1 AND state <> 'failed' ORDER BY key";
        for mut row in self.connection.rows(sql, values![&session.id])? {
            let (kind, payload) = (row.text(0), row.text(1));
            self.line(&Line::Job(Box::new(JobLine {
                kind,
                session: Some(session.id.clone()),
                payload,
            })))?;
        }
        Ok(())
    }

    fn preferences(&mut self) -> Result<()> {
        for mut row in self
            .connection
            .rows("SELECT user_id, name, value FROM preference ORDER BY user_id, name", &[])?
        {
            let (user, name, value) = (row.text(0), row.text(1), row.text(2));
            self.line(&Line::Preference(PreferenceLine { user, name, value }))?;
        }
        Ok(())
    }
}

fn write_line(out: &mut dyn Write, line: &Line) -> Result<()> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
