//! Reads the rows of tables that may be damaged. A damaged index leads to no row or to a wrong one,
//! and one row that cannot be read ends a query. So a damaged table is read as a whole, without its
//! indexes and from both ends.

use std::collections::{BTreeMap, HashSet};

use super::Export;
use crate::error::{LogError, Result};
use crate::session::{self, Filter, Session};
use crate::store::Row;
use crate::store::checksum::{self, Table};
use crate::tree::Tip;
use waterline::phrase;

/// The tables whose rows are found by indexes. The others are found by their numbers, and what they
/// have is compared with hashes.
const CHECKED: &[&Table] = &[
    &checksum::TOOLSET,
    &checksum::SESSION,
    &checksum::MOVE,
    &checksum::CLEAR_MARK,
    &checksum::GENERATION,
    &checksum::SUMMARY,
    &checksum::SNAPSHOT,
    &checksum::CHECKPOINT,
    &checksum::ARTIFACT_USE,
    &checksum::USAGE,
    &checksum::JOB,
    &checksum::PREFERENCE,
];

/// How many problems of a table are named.
const MAX_PROBLEMS: usize = 20;

/// The rows of a damaged table that can be read, by the session or the user that they belong to,
/// each with whether it is intact.
pub(super) type Rows = BTreeMap<String, Vec<(Row, bool)>>;

impl Export<'_> {
    /// Lets the database compare the tables with their indexes, and records the problems.
    pub(super) fn check_tables(&mut self) -> Result<()> {
        for table in CHECKED {
            let Some(sql) = self.connection.dialect().check_table(table.name) else { break };
            let problems = match self.connection.rows(&sql, &[]) {
                Ok(rows) => rows.into_iter().map(|mut row| row.text(0).into()).collect(),
                Err(error) if error.may_be_damage() => vec![error.damage()],
                Err(error) => return Err(error),
            };
            for cause in
                problems.into_iter().filter(|text| text.as_str() != "ok").take(MAX_PROBLEMS)
            {
                self.damaged_tables.insert(table.name);
                let name = table.name;
                self.report.damaged.push(phrase!(
                    "damage-table",
                    "table {name}: {cause}",
                    name = name,
                    cause = cause
                ));
            }
        }
        Ok(())
    }

    pub(super) fn is_damaged(&self, table: &Table) -> bool {
        self.damaged_tables.contains(table.name)
    }

    /// Returns all sessions or those with the given ids, each with whether it is intact.
    pub(super) fn sessions(&mut self, ids: &[String]) -> Result<Vec<(Session, bool)>> {
        let table = &checksum::SESSION;
        if !self.is_damaged(table) {
            return if ids.is_empty() {
                session::list_readable(self.connection, &Filter::default())
            } else {
                ids.iter().map(|id| session::load_readable(self.connection, id)).collect()
            };
        }
        let rows = self.scan(table, &session::columns(self.connection.dialect()), "id")?;
        let rows = rows.into_values().flatten();
        let mut sessions: Vec<_> = rows.map(|(row, _)| Session::readable(row)).collect();
        sessions.extend(self.short_sessions(&sessions)?);
        if ids.is_empty() {
            return Ok(sessions);
        }
        let of = |id: &String| {
            let found = sessions.iter().find(|(session, _)| session.id == *id).cloned();
            found.ok_or_else(|| LogError::NoSession { id: id.clone() })
        };
        ids.iter().map(of).collect()
    }

    /// Returns the id and the last message of each session that cannot be read as a whole.
    fn short_sessions(&mut self, known: &[(Session, bool)]) -> Result<Vec<(Session, bool)>> {
        let name = self.unindexed(&checksum::SESSION);
        let sql = |direction: &str| {
            format!("SELECT id, branch, position FROM {name} ORDER BY rowid {direction}")
        };
        let (rows, _) = self.connection.readable_rows(sql, &[])?;
        let known: HashSet<&str> = known.iter().map(|(session, _)| session.id.as_str()).collect();
        let session = |mut row: Row| {
            let tip = Tip { branch: row.int(1), position: row.count(2) };
            Session { tip, ..Session::new(row.text(0)) }
        };
        let sessions = rows.into_iter().map(session);
        Ok(sessions
            .filter(|one| !known.contains(one.id.as_str()))
            .map(|one| (one, false))
            .collect())
    }

    /// Returns the intact rows of a damaged table that belong to a session or a user, in the order
    /// in which they were inserted. The others are recorded.
    pub(super) fn scanned_rows(
        &mut self,
        table: &Table,
        columns: &str,
        (column, value): (&str, &str),
    ) -> Result<Vec<Row>> {
        if !self.rows.contains_key(table.name) {
            let rows = self.scan(table, columns, column)?;
            self.rows.insert(table.name, rows);
        }
        let rows = self.rows.get(table.name).and_then(|rows| rows.get(value));
        let (intact, damaged): (Vec<_>, Vec<_>) =
            rows.into_iter().flatten().cloned().partition(|(_, is_intact)| *is_intact);
        self.report.damaged.extend(damaged.iter().map(|_| table.mismatch(value)));
        Ok(intact.into_iter().map(|(row, _)| row).collect())
    }

    /// Returns the rows of a damaged table that can be read, by the value of a column. Why others
    /// cannot be read was recorded when the table was checked.
    pub(super) fn scan(&mut self, table: &Table, columns: &str, column: &str) -> Result<Rows> {
        let is_intact = table.intact(self.connection.dialect(), "");
        let name = self.unindexed(table);
        let sql = |direction: &str| {
            format!(
                "SELECT {columns}, {column}, {is_intact}, rowid FROM {name} \
                 ORDER BY rowid {direction}"
            )
        };
        let (rows, _) = self.connection.readable_rows(sql, &[])?;
        let mut numbered: Vec<(Option<i64>, Row)> =
            rows.into_iter().map(|mut row| (row.pop_int(), row)).collect();
        numbered.sort_by_key(|(number, _)| *number);
        // A damaged link between pages leads to the same rows twice.
        numbered.dedup();
        let mut found = Rows::new();
        for (_, mut row) in numbered {
            let is_intact = row.pop_int() == Some(1);
            let owner = row.pop_text().unwrap_or_default();
            found.entry(owner).or_default().push((row, is_intact));
        }
        Ok(found)
    }

    /// Returns the name of a table in a query that uses none of its indexes. Only a database that
    /// can do so has damaged tables.
    pub(super) fn unindexed(&self, table: &Table) -> String {
        let name = self.connection.dialect().without_indexes(table.name);
        name.unwrap_or_else(|| table.name.to_owned())
    }
}
