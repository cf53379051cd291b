//! Exports the rows that belong to a session, except its messages.

use std::collections::HashSet;

use super::{Export, write_line};
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
        let read = self.sent(session);
        let sent = self.skip_damaged(&session.id, read)?.unwrap_or_default();
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

    /// Returns columns of the rows that are intact and have a value in a column. The damaged ones
    /// are recorded.
    pub(super) fn intact_rows(
        &mut self,
        table: &checksum::Table,
        columns: &str,
        only: (&str, &str),
        order: &str,
    ) -> Result<Vec<Row>> {
        if self.is_damaged(table) {
            return self.scanned_rows(table, columns, only);
        }
        let damaged = table.damaged(self.connection, Some(only));
        if let Some(damaged) = self.skip_damaged(only.1, damaged)? {
            self.report.damaged.extend(damaged);
        }
        let is_intact = table.is_intact(self.connection.dialect(), "");
        let sql = format!(
            "SELECT {columns} FROM {} WHERE {} = $1 AND {is_intact} ORDER BY {order}",
            table.name, only.0
        );
        let rows = self.connection.rows(&sql, values![only.1]);
        Ok(self.skip_damaged(only.1, rows)?.unwrap_or_default())
    }

    /// Writes tool definitions, unless they have been written.
    pub(super) fn tools(&mut self, hash: &str) -> Result<()> {
        if self.tools.contains(hash) {
            return Ok(());
        }
        let table = if self.is_damaged(&checksum::TOOLSET) {
            self.unindexed(&checksum::TOOLSET)
        } else {
            checksum::TOOLSET.name.to_owned()
        };
        let bytes = Bytes::of(toolset::read_from(self.connection, &table, hash)?);
        self.line(&Line::Tools(Box::new(ToolsLine { hash: hash.to_owned(), bytes })))?;
        self.tools.insert(hash.to_owned());
        Ok(())
    }

    /// Writes the stored request contexts and returns the keys of their generations. They build on
    /// each other, so none is written if one is damaged.
    fn sent(&mut self, session: &Session) -> Result<HashSet<i64>> {
        let mut generations = HashSet::new();
        for StoredUpdate { tip, generation, time, update } in
            request_context::updates(self.connection, session.request_context)?
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
        let columns = "branch, position, number, created, key, reason, tokens_before, \
                   tokens_after, cost_before, cost_after";
        let only = ("session", session.id.as_str());
        for mut row in self.intact_rows(&checksum::GENERATION, columns, only, "key")? {
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
        let columns = "version, start, branch, position, target, generation, text, tokens, \
                   original_tokens, created";
        let only = ("session", session.id.as_str());
        for mut row in self.intact_rows(&checksum::SUMMARY, columns, only, "version")? {
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
        let is_damaged =
            [checksum::CHECKPOINT, checksum::SNAPSHOT].iter().any(|table| self.is_damaged(table));
        let checkpoints = if is_damaged {
            let (checkpoints, errors) = checkpoint::scan_session(self.connection, &session.id)?;
            for error in errors {
                self.note(&session.id, error.damage());
            }
            checkpoints
        } else {
            checkpoint::of_session(self.connection, &session.id)?
        };
        for checkpoint in checkpoints {
            if let Some(checkpoint) = self.skip_damaged(&session.id, checkpoint)? {
                self.line(&Line::Checkpoint(Box::new(checkpoint)))?;
            }
        }
        Ok(())
    }

    fn usage(&mut self, session: &Session) -> Result<()> {
        let columns = format!("{}, number", usage::COLUMNS);
        let only = ("session", session.id.as_str());
        for row in self.intact_rows(&checksum::USAGE, &columns, only, "number")? {
            self.line(&Line::Usage(Box::new(UsageLine {
                session: session.id.clone(),
                number: row.count(9),
                usage: usage::of(row),
            })))?;
        }
        Ok(())
    }

    fn artifacts(&mut self, session: &Session) -> Result<()> {
        let only = ("session", session.id.as_str());
        let uses = self.intact_rows(&checksum::ARTIFACT_USE, "hash", only, "hash")?;
        let mut found = Vec::new();
        for hash in uses.into_iter().map(|mut row| row.bytes(0)) {
            match self.artifact_row("created, media", &hash)? {
                Some(mut row) => {
                    // A record of changed files is of use only on this machine.
                    if !is_file_record(&row.text(1)) {
                        found.push((row.int(0), hash));
                    }
                }
                None => self.note_artifact(session, &hash),
            }
        }
        found.sort();
        for (time, hash) in found {
            let columns = "media, preview, packed, bytes, size";
            let Some(mut row) = self.artifact_row(columns, &hash)? else {
                self.note_artifact(session, &hash);
                continue;
            };
            let (media, preview) = (row.text(0), row.text(1));
            let Some(bytes) = artifact::unpack(row, 2, &hash) else {
                self.note_artifact(session, &hash);
                continue;
            };
            let session = session.id.clone();
            let bytes = Bytes::of(bytes);
            let line = ArtifactLine { session, media, preview, time, bytes };
            write_line(self.out, &Line::Artifact(Box::new(line)))?;
        }
        Ok(())
    }

    fn note_artifact(&mut self, session: &Session, hash: &[u8]) {
        let text = phrase!("damage-artifact", "artifact {hash}", hash = hash_name(hash));
        self.note(&session.id, text);
    }

    /// Returns columns of an artifact, if it is intact. If the index does not find it, all
    /// artifacts are searched.
    fn artifact_row(&mut self, columns: &str, hash: &[u8]) -> Result<Option<Row>> {
        let table = &checksum::ARTIFACT;
        let is_intact = table.is_intact(self.connection.dialect(), "");
        for name in [table.name.to_owned(), self.unindexed(table)] {
            let sql = format!("SELECT {columns} FROM {name} WHERE hash = $1 AND {is_intact}");
            match self.connection.row(&sql, values![hash]) {
                Ok(None) => {}
                Err(error) if error.may_be_damage() => {}
                found => return found,
            }
        }
        Ok(None)
    }

    fn jobs(&mut self, session: &Session) -> Result<()> {
        let only = ("session", session.id.as_str());
        for mut row in self.intact_rows(&checksum::JOB, "kind, payload, state", only, "key")? {
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
        let columns = "user_id, name, value";
        let rows = if self.is_damaged(table) {
            let users: Vec<String> = self.scan(table, "user_id", "user_id")?.into_keys().collect();
            let mut rows = Vec::new();
            for user in users {
                rows.extend(self.scanned_rows(table, columns, ("user_id", &user))?);
            }
            rows
        } else {
            let damaged = table.damaged(self.connection, None)?;
            self.report.damaged.extend(damaged);
            let is_intact = table.is_intact(self.connection.dialect(), "");
            let sql = format!(
                "SELECT {columns} FROM preference WHERE {is_intact} ORDER BY user_id, name"
            );
            self.connection.rows(&sql, &[])?
        };
        for mut row in rows {
            self.line(&Line::Preference(PreferenceLine {
                user: row.text(0),
                name: row.text(1),
                value: row.text(2),
            }))?;
        }
        Ok(())
    }
}
