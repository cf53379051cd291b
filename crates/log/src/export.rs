//! Sessions as lines of JSON: complete, and with the same ids wherever they are imported.

use std::collections::HashMap;
use std::io::Write;

use crate::checkpoint::Checkpoint;
use crate::entry::each_of_run;
use crate::error::{LogError, Result};
use crate::frozen::{self, Sent};
use crate::line::{
    ArtifactLine, Bytes, CheckpointLine, FoldLine, GenerationLine, Line, MessageLine, SentLine, SessionLine,
    SummaryLine, UsageLine, VERSION,
};
use crate::log::Log;
use crate::session::{self, Filter, Session};
use crate::store::{Connection, values};
use crate::tree::{Path, Run, Tip, id_at};

impl Log {
    /// Writes sessions, or all of them where none is named, as lines of JSON. What several of them share is written once.
    ///
    /// # Errors
    /// When a session is not there, a message is damaged, or `out` takes nothing more.
    pub fn export(&self, sessions: &[String], out: &mut dyn Write) -> Result<()> {
        self.read(|connection| {
            let sessions = match sessions {
                [] => session::list(connection, &Filter::default())?,
                named => named.iter().map(|id| session::load(connection, id)).collect::<Result<_>>()?,
            };
            let mut export = Export { connection, out, written: HashMap::new() };
            export.line(&Line::Waterline(VERSION))?;
            sessions.iter().try_for_each(|session| export.session(session))
        })
    }
}

struct Export<'a> {
    connection: &'a mut dyn Connection,
    out: &'a mut dyn Write,
    /// Of each branch, how far its messages have been written.
    written: HashMap<i64, u64>,
}

impl Export<'_> {
    fn line(&mut self, line: &Line) -> Result<()> {
        write_line(self.out, line)
    }

    fn session(&mut self, session: &Session) -> Result<()> {
        let left =
            self.tips("SELECT from_branch, from_position FROM move WHERE session = $1 ORDER BY number", &session.id)?;
        let cuts = self.tips("SELECT branch, position FROM cut WHERE session = $1 ORDER BY position", &session.id)?;
        let steps = frozen::steps(self.connection, session.frozen)?;
        for &tip in [session.tip].iter().chain(&left) {
            self.messages(tip)?;
        }
        let line = SessionLine {
            id: session.id.clone(),
            tip: self.name(session.tip)?,
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
            created: session.created,
            active: session.active,
            cuts: self.names(&cuts)?,
            left: self.names(&left)?,
        };
        self.line(&Line::Session(Box::new(line)))?;
        for (tip, step) in steps {
            self.step(session, tip, step)?;
        }
        self.generations(session)?;
        self.summaries(session)?;
        self.checkpoints(session)?;
        self.calls(session)?;
        self.artifacts(session)
    }

    fn tips(&mut self, sql: &str, session: &str) -> Result<Vec<Tip>> {
        let rows = self.connection.rows(sql, values![session])?;
        Ok(rows.iter().map(|row| Tip { branch: row.int(0), position: row.count(1) }).collect())
    }

    fn name(&mut self, tip: Tip) -> Result<Option<String>> {
        Ok(id_at(self.connection, tip)?.map(|id| id.to_string()))
    }

    fn names(&mut self, tips: &[Tip]) -> Result<Vec<String>> {
        let names = tips.iter().map(|&tip| self.name(tip)).collect::<Result<Vec<_>>>()?;
        Ok(names.into_iter().flatten().collect())
    }

    fn messages(&mut self, tip: Tip) -> Result<()> {
        let path = Path::of(self.connection, tip)?;
        for run in path.runs(0).collect::<Vec<_>>() {
            let done = self.written.get(&run.branch).copied().unwrap_or(run.after);
            if done >= run.upto {
                continue;
            }
            let before =
                if done > run.after { Some(Tip { branch: run.branch, position: done }) } else { path.at(run.after) };
            let mut parent = before.map(|tip| id_at(self.connection, tip)).transpose()?.flatten();
            let rest = Run { after: done, ..run };
            let out = &mut *self.out;
            each_of_run(self.connection, rest, &mut |entry| {
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
                parent = Some(entry.id);
                write_line(out, &Line::Message(Box::new(line)))
            })?;
            self.written.insert(run.branch, run.upto);
        }
        Ok(())
    }

    fn step(&mut self, session: &Session, tip: Tip, step: Sent) -> Result<()> {
        let fold = step.fold.map(|fold| FoldLine {
            reason: fold.reason,
            tokens_before: fold.tokens_before,
            tokens_after: fold.tokens_after,
            cost_before: fold.cost_before,
            cost_after: fold.cost_after,
        });
        let at = self.name(tip)?;
        let (head, past, slots) = (step.head, step.past, step.slots);
        self.line(&Line::Sent(Box::new(SentLine { session: session.id.clone(), at, head, past, slots, fold })))
    }

    /// The folds that have no steps: another program made them.
    fn generations(&mut self, session: &Session) -> Result<()> {
        let sql = "SELECT branch, position, number, created, reason, tokens_before, tokens_after, cost_before, cost_after \
                   FROM generation g WHERE session = $1 AND NOT EXISTS (SELECT 1 FROM frozen f WHERE f.generation = g.key) \
                   ORDER BY key";
        for mut row in self.connection.rows(sql, values![&session.id])? {
            let at = self.name(Tip { branch: row.int(0), position: row.count(1) })?;
            let fold = FoldLine {
                reason: row.text(4),
                tokens_before: row.size(5),
                tokens_after: row.size(6),
                cost_before: row.maybe_int(7),
                cost_after: row.maybe_int(8),
            };
            let (number, time) = (row.count(2), row.int(3));
            self.line(&Line::Generation(GenerationLine { session: session.id.clone(), at, number, time, fold }))?;
        }
        Ok(())
    }

    fn summaries(&mut self, session: &Session) -> Result<()> {
        let sql = "SELECT version, start, branch, position, target, generation, text, tokens, original_tokens, created \
                   FROM summary WHERE session = $1 ORDER BY version";
        for mut row in self.connection.rows(sql, values![&session.id])? {
            let Some(until) = self.name(Tip { branch: row.int(2), position: row.count(3) })? else { continue };
            self.line(&Line::Summary(Box::new(SummaryLine {
                session: session.id.clone(),
                version: row.count(0),
                start: row.count(1),
                until,
                target: crate::id::Id::stored(&row.bytes(4)).map(|id| id.to_string()),
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
        for made in crate::checkpoint::of_session(self.connection, &session.id)? {
            let Checkpoint { thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata } = made;
            let line = CheckpointLine { thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata };
            self.line(&Line::Checkpoint(Box::new(line)))?;
        }
        Ok(())
    }

    fn calls(&mut self, session: &Session) -> Result<()> {
        let calls = crate::usage::of_session(self.connection, &session.id)?;
        for (at, call) in calls.into_iter().enumerate() {
            self.line(&Line::Usage(Box::new(UsageLine {
                session: session.id.clone(),
                number: at as u64 + 1,
                position: call.position,
                model: call.model,
                input: call.input,
                cache_read: call.cache_read,
                cache_write: call.cache_write,
                output: call.output,
                price: call.price,
                latency: call.latency,
                time: call.time,
            })))?;
        }
        Ok(())
    }

    fn artifacts(&mut self, session: &Session) -> Result<()> {
        let damaged = self.connection.damaged("an artifact");
        let out = &mut *self.out;
        let mut whole = true;
        let sql = "SELECT a.media, a.preview, a.created, a.packed, a.bytes, a.size FROM artifact_use u \
                   JOIN artifact a ON a.hash = u.hash WHERE u.session = $1 ORDER BY a.created, a.hash";
        self.connection.each(sql, values![&session.id], &mut |mut row| {
            let Some(bytes) = crate::packed::unpack(row.int(3), row.bytes(4), row.size(5)) else {
                whole = false;
                return Ok(());
            };
            let (media, preview, time) = (row.text(0), row.text(1), row.int(2));
            let line = ArtifactLine { session: session.id.clone(), media, preview, time, bytes: Bytes::of(bytes) };
            write_line(out, &Line::Artifact(line))
        })?;
        if whole { Ok(()) } else { Err(damaged) }
    }
}

fn write_line(out: &mut dyn Write, line: &Line) -> Result<()> {
    serde_json::to_writer(&mut *out, line).map_err(|error| LogError::Output(error.into()))?;
    out.write_all(b"\n").map_err(LogError::Output)
}
