//! Exports the rows that belong to a session, except its messages.

use std::collections::HashSet;

use super::{Export, select_intact, write_line};
use crate::artifact::{self, is_file_record};
use crate::checkpoint;
use crate::encoding::hash_name;
use crate::error::Result;
use crate::generation::Fold;
use crate::id::Id;
use crate::line::{
    ArtifactLine, Bytes, GenerationLine, JobLine, Line, PreferenceLine, SentLine, SummaryLine,
    ToolsLine, UsageLine,
};
use crate::request_context::{self, StoredUpdate};
use crate::session::Session;
use crate::store::{Row, checksum, values};
use crate::toolset;
use crate::tree::Tip;
use crate::usage;
use waterline::phrase;

impl Export<'_> {
    pub(super) fn rows_of(&mut self, session: &Session) -> Result<()> {
        let sent = self.sent(session);
        let sent = self.skip_damaged(&session.id, sent)?.unwrap_or_default();
        let parts: [fn(&mut Self, &Session) -> Result<()>; 5] =
            [Self::summaries, Self::checkpoints, Self::usage, Self::artifacts, Self::jobs];
        let generations = self.generations(session, &sent);
        self.skip_damaged(&session.id, generations)?;
        for part in parts {
            let outcome = part(self, session);
            self.skip_damaged(&session.id, outcome)?;
        }
        Ok(())
    }

    /// Returns the rows of a query that are intact and have a value in a column. The damaged ones
    /// are recorded.
    pub(super) fn intact_rows(
        &mut self,
        table: &checksum::Table,
        sql: &str,
        only: (&str, &str),
        order: &str,
    ) -> Result<Vec<Row>> {
        let damaged = table.damaged(self.connection, Some(only));
        if let Some(damaged) = self.skip_damaged(only.1, damaged)? {
            self.report.damaged.extend(damaged);
        }
        let rows = select_intact(self.connection, table, sql, only, order);
        Ok(self.skip_damaged(only.1, rows)?.unwrap_or_default())
    }

    /// Writes tool definitions, unless they have been written.
    pub(super) fn tools(&mut self, hash: &str) -> Result<()> {
        if self.tools.contains(hash) {
            return Ok(());
        }
        let bytes = Bytes::of(toolset::read(self.connection, hash)?);
        self.line(&Line::Tools(Box::new(ToolsLine { hash: hash.to_owned(), bytes })))?;
        self.tools.insert(hash.to_owned());
        Ok(())
    }

    /// Writes the stored request contexts and returns the keys of their generations. They build on
    /// each other, so none is written if one is damaged.
    fn sent(&mut self, session: &Session) -> Result<HashSet<i64>> {
        let mut generations = HashSet::new();
        for StoredUpdate { tip, generation, time, update } in
            request_context::updates(self.connection, session.frozen)?
        {
            let at = self.written_id(tip)?;
            if at.is_none() && tip != Tip::EMPTY {
                break;
            }
            generations.insert(generation);
            self.line(&Line::Sent(Box::new(SentLine {
                session: session.id.clone(),
                at,
                cleared: update.cleared,
                head: update.head,
                past: update.past,
                slots: update.slots,
                fold: update.fold,
                time,
            })))?;
        }
        Ok(generations)
    }

    /// Writes the folds without a stored request context: another program made them, or they were
    /// undone.
    fn generations(&mut self, session: &Session, sent: &HashSet<i64>) -> Result<()> {
        let sql = "SELECT branch, position, number, created, key, reason, tokens_before, \
                   tokens_after, cost_before, cost_after FROM generation";
        let only = ("session", session.id.as_str());
        for mut row in self.intact_rows(&checksum::GENERATION, sql, only, "key")? {
            let at = self.written_id(Tip { branch: row.int(0), position: row.count(1) })?;
            if sent.contains(&row.int(4)) || row.count(2) == 0 || at.is_none() {
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
                   original_tokens, created FROM summary";
        let only = ("session", session.id.as_str());
        for mut row in self.intact_rows(&checksum::SUMMARY, sql, only, "version")? {
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
        for checkpoint in checkpoint::of_session(self.connection, &session.id)? {
            if let Some(checkpoint) = self.skip_damaged(&session.id, checkpoint)? {
                self.line(&Line::Checkpoint(Box::new(checkpoint)))?;
            }
        }
        Ok(())
    }

    fn usage(&mut self, session: &Session) -> Result<()> {
        let sql = format!("SELECT {}, number FROM usage", usage::COLUMNS);
        let only = ("session", session.id.as_str());
        for row in self.intact_rows(&checksum::USAGE, &sql, only, "number")? {
            self.line(&Line::Usage(Box::new(UsageLine {
                session: session.id.clone(),
                number: row.count(9),
                usage: usage::of(row),
            })))?;
        }
        Ok(())
    }

    fn artifacts(&mut self, session: &Session) -> Result<()> {
        let sql = "SELECT hash FROM artifact_use";
        let only = ("session", session.id.as_str());
        let uses = self.intact_rows(&checksum::ARTIFACT_USE, sql, only, "hash")?;
        let is_intact = checksum::ARTIFACT.is_intact(self.connection.dialect(), "");
        let sql =
            format!("SELECT media, preview, created FROM artifact WHERE hash = $1 AND {is_intact}");
        let mut found = Vec::new();
        for hash in uses.into_iter().map(|mut row| row.bytes(0)) {
            match self.connection.row(&sql, values![hash.as_slice()])? {
                Some(row) => found.push((row.int(2), hash, row)),
                None => self.note(
                    &session.id,
                    phrase!("damage-artifact", "artifact {hash}", hash = hash_name(&hash)),
                ),
            }
        }
        found.sort_by(|(time, hash, _), (other, next, _)| (time, hash).cmp(&(other, next)));
        for (time, hash, mut row) in found {
            let media = row.text(0);
            // A record of changed files is of use only on this machine.
            if is_file_record(&media) {
                continue;
            }
            let Some(Some(bytes)) = artifact::read(self.connection, &hash)? else {
                self.note(
                    &session.id,
                    phrase!("damage-artifact", "artifact {hash}", hash = hash_name(&hash)),
                );
                continue;
            };
            let line = ArtifactLine {
                session: session.id.clone(),
                media,
                preview: row.text(1),
                time,
                bytes: Bytes::of(bytes),
            };
            write_line(self.out, &Line::Artifact(Box::new(line)))?;
        }
        Ok(())
    }

    fn jobs(&mut self, session: &Session) -> Result<()> {
        let sql = "SELECT kind, payload, state FROM job";
        let only = ("session", session.id.as_str());
        for mut row in self.intact_rows(&checksum::JOB, sql, only, "key")? {
            if row.text(2) == "failed" {
                continue;
            }
            self.line(&Line::Job(Box::new(JobLine {
                kind: row.text(0),
                session: Some(session.id.clone()),
                payload: row.text(1),
            })))?;
        }
        Ok(())
    }

    /// Writes the preferences of all users.
    pub(super) fn preferences(&mut self) -> Result<()> {
        let table = &checksum::PREFERENCE;
        let damaged = table.damaged(self.connection, None)?;
        self.report.damaged.extend(damaged);
        let is_intact = table.is_intact(self.connection.dialect(), "");
        let sql = format!(
            "SELECT user_id, name, value FROM preference WHERE {is_intact} ORDER BY user_id, name"
        );
        for mut row in self.connection.rows(&sql, &[])? {
            self.line(&Line::Preference(PreferenceLine {
                user: row.text(0),
                name: row.text(1),
                value: row.text(2),
            }))?;
        }
        Ok(())
    }
}
