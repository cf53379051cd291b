//! Exports sessions as JSON Lines. An import into any log gives the messages the same ids.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use crate::entry::each_of_run;
use crate::error::{LogError, Result};
use crate::frozen::{self, StoredStep};
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

/// The result of [`Log::export`]. The export is complete if `damaged` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of exported sessions.
    pub sessions: u64,
    /// Number of exported messages. A message that sessions share counts once.
    pub messages: u64,
    /// The damaged data that was left out, one line of text each.
    pub damaged: Vec<String>,
}

impl Log {
    /// Writes sessions to `out` as JSON Lines, which [`Log::import`] reads. With no session ids,
    /// exports all sessions and the users' preferences.
    ///
    /// Messages that sessions share are written once. Damaged data is left out and listed in
    /// [`Exported::damaged`]: a session with a damaged message is exported up to that message.
    /// [`Session::local`], workspaces and failed jobs are never exported.
    ///
    /// # Errors
    /// If a session does not exist, the log cannot be read, or writing to `out` fails.
    pub fn export(&self, sessions: &[String], out: &mut dyn Write) -> Result<Exported> {
        self.read(|connection| {
            let all = sessions.is_empty();
            let sessions = if all {
                session::list(connection, &Filter::default())?
            } else {
                sessions.iter().map(|id| session::load(connection, id)).collect::<Result<_>>()?
            };
            let mut export = Export {
                connection,
                out,
                written: HashMap::new(),
                tools: HashSet::new(),
                report: Exported::default(),
            };
            export.line(&Line::Waterline(VERSION))?;
            sessions.iter().try_for_each(|session| export.session(session))?;
            if all {
                export.preferences()?;
            }
            export.line(&Line::End(sessions.len() as u64))?;
            export.report.sessions = sessions.len() as u64;
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
    report: Exported,
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
        let clear_marks = self.tips(
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
        let sent = self.sent(session)?;
        self.generations(session, &sent)?;
        self.summaries(session)?;
        self.checkpoints(session)?;
        self.usage(session)?;
        self.artifacts(session)?;
        self.jobs(session)
    }

    /// Writes the tool definitions of a session, once per list, and returns their hash.
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
                self.report.damaged.push(format!("session {}: {text}", session.id));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn tips(&mut self, sql: &str, session: &str) -> Result<Vec<Tip>> {
        let rows = self.connection.rows(sql, values![session])?;
        Ok(rows.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) }).collect())
    }

    /// Returns the id of the message at `tip` if it has been written.
    fn written_id(&mut self, tip: Tip) -> Result<Option<String>> {
        let is_written = self.written.get(&tip.branch).is_some_and(|&upto| tip.position <= upto);
        Ok(if is_written { id_at(self.connection, tip)?.map(|id| id.to_string()) } else { None })
    }

    fn written_ids(&mut self, tips: &[Tip]) -> Result<Vec<String>> {
        let ids = tips.iter().map(|&tip| self.written_id(tip)).collect::<Result<Vec<_>>>()?;
        Ok(ids.into_iter().flatten().collect())
    }

    /// Writes the messages up to `tip` that have not been written yet. Returns the last message
    /// before any damage.
    fn messages(&mut self, session: &str, tip: Tip) -> Result<Tip> {
        let path = Path::of(self.connection, tip)?;
        for run in path.runs(0).collect::<Vec<_>>() {
            let before = self.written.get(&run.branch).copied().unwrap_or(run.after);
            if before >= run.upto {
                continue;
            }
            let parent = match path.at(before) {
                Some(parent) => id_at(self.connection, parent)?,
                None => None,
            };
            let (upto, outcome) = self.run(Run { after: before, ..run }, parent);
            self.written.insert(run.branch, upto);
            self.report.messages += upto - before;
            match outcome {
                Ok(()) => {}
                Err(LogError::Damaged { text, .. }) => {
                    self.report
                        .damaged
                        .push(format!("session {session}, after message {upto}: {text}"));
                    return Ok(path.at(upto).unwrap_or(Tip::EMPTY));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(tip)
    }

    /// Writes the messages of a run and returns the last written position.
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

    /// Writes the stored request contexts and returns the keys of their generations.
    fn sent(&mut self, session: &Session) -> Result<HashSet<i64>> {
        let mut generations = HashSet::new();
        for StoredStep { tip, generation, time, sent } in
            frozen::steps(self.connection, session.frozen)?
        {
            let at = self.written_id(tip)?;
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

    /// Writes the folds without a stored request context: another program made them, or they were
    /// undone.
    fn generations(&mut self, session: &Session, sent: &HashSet<i64>) -> Result<()> {
        let sql = format!(
            "SELECT g.branch, g.position, g.number, g.created, g.key, {FOLD} FROM generation g \
             WHERE g.session = $1 AND g.number > 0 ORDER BY g.key"
        );
        for mut row in self.connection.rows(&sql, values![&session.id])? {
            let at = self.written_id(Tip { branch: row.int(0), position: row.count(1) })?;
            if sent.contains(&row.int(4)) || at.is_none() {
                continue;
            }
            self.line(&Line::Generation(Box::new(GenerationLine {
                session: session.id.clone(),
                at,
                number: row.count(2),
                time: row.int(3),
                fold: Fold::of(&mut row, 5),
            })))?;
        }
        Ok(())
    }

    fn summaries(&mut self, session: &Session) -> Result<()> {
        let sql = "SELECT version, start, branch, position, target, generation, text, tokens, \
                   original_tokens, created FROM summary WHERE session = $1 ORDER BY version";
        for mut row in self.connection.rows(sql, values![&session.id])? {
            let last = Tip { branch: row.int(2), position: row.count(3) };
            let Some(until) = self.written_id(last)? else { continue };
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
        let checkpoints = crate::checkpoint::of_session(self.connection, &session.id)?;
        checkpoints
            .into_iter()
            .try_for_each(|checkpoint| self.line(&Line::Checkpoint(Box::new(checkpoint))))
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
        let damaged = &mut self.report.damaged;
        let sql = "SELECT a.media, a.preview, a.created, a.packed, a.bytes, a.size \
                   FROM artifact_use u JOIN artifact a ON a.hash = u.hash WHERE u.session = $1 \
                   ORDER BY a.created, a.hash";
        self.connection.each(sql, values![&session.id], &mut |mut row| {
            let media = row.text(0);
            let Some(bytes) = crate::compress::decompress(row.int(3), row.bytes(4), row.size(5))
            else {
                damaged.push(format!("session {}: an artifact of type {media}", session.id));
                return Ok(());
            };
            let line = ArtifactLine {
                session: session.id.clone(),
                media,
                preview: row.text(1),
                time: row.int(2),
                bytes: Bytes::of(bytes),
            };
            write_line(out, &Line::Artifact(Box::new(line)))
        })
    }

    fn jobs(&mut self, session: &Session) -> Result<()> {
        let sql =
            "SELECT kind, payload FROM job WHERE session = $1 AND state <> 'failed' ORDER BY key";
        for mut row in self.connection.rows(sql, values![&session.id])? {
            self.line(&Line::Job(Box::new(JobLine {
                kind: row.text(0),
                session: Some(session.id.clone()),
                payload: row.text(1),
            })))?;
        }
        Ok(())
    }

    fn preferences(&mut self) -> Result<()> {
        let sql = "SELECT user_id, name, value FROM preference ORDER BY user_id, name";
        for mut row in self.connection.rows(sql, &[])? {
            self.line(&Line::Preference(PreferenceLine {
                user: row.text(0),
                name: row.text(1),
                value: row.text(2),
            }))?;
        }
        Ok(())
    }
}

fn write_line(out: &mut dyn Write, line: &Line) -> Result<()> {
    serde_json::to_writer(&mut *out, line).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}
