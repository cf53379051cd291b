//! Row checksums. Every table has a column `checksum`, a generated column: the database computes it
//! from the other columns whenever it writes a row, so no statement has to. `verify` and the
//! operations that read rows compare it with the values that they find.
//!
//! SQLite has no hash function of its own. Each connection registers [`FUNCTION`], without which
//! another program can read the file but not write to it.

use super::{Connection, Dialect, Value};
use crate::encoding::hash_name;
use crate::error::Result;
use waterline::phrase;
use waterline::phrase::Phrase;

/// The SQL function that computes the checksum of a row in SQLite.
pub(super) const FUNCTION: &str = "row_checksum";

/// A table with checksums.
pub(crate) struct Table {
    /// The name of the table.
    pub(crate) name: &'static str,
    /// What a row is, for reports of damage.
    pub(crate) what: &'static str,
    /// How many of the first columns identify a row.
    pub(crate) keys: usize,
    /// The columns that the checksum covers, the key first. A column with its own hash is left out.
    pub(crate) columns: &'static [&'static str],
}

macro_rules! tables {
    ($($constant:ident $name:literal $what:literal $keys:literal [$($column:ident)+])+) => {
        $(pub(crate) const $constant: Table = Table {
            name: $name,
            what: $what,
            keys: $keys,
            columns: &[$(stringify!($column)),+],
        };)+

        /// All tables with checksums.
        pub(crate) const TABLES: &[Table] = &[$($constant),+];
    };
}

tables! {
    CONTENT "content" "content" 1 [key hash wire role tokens counter size packed]
    BRANCH "branch" "branch" 1 [key parent fork last]
    MESSAGE "message" "message" 2 [branch position id content created]
    TOOLSET "toolset" "tool definitions" 1 [hash size packed]
    SESSION "session" "session" 1 [
        id branch position frozen title user_id parent relation context_id parent_context model
        policy overrides state created active local workspace imported tools
    ]
    MOVE "move" "move of session" 2 [
        session number kind from_branch from_position from_frozen to_branch to_position created
    ]
    CLEAR_MARK "cut" "clear mark of session" 3 [session branch position created]
    GENERATION "generation" "fold" 1 [
        key session number reason branch position tokens_before tokens_after cost_before cost_after
        created
    ]
    FROZEN "frozen" "request context" 1 [
        key previous generation branch position cleared head packed slots
    ]
    SUMMARY "summary" "summary" 1 [
        key session version start branch position target generation text tokens original_tokens
        created
    ]
    SNAPSHOT "snapshot" "checkpoint state of session" 2 [session number state]
    CHECKPOINT "checkpoint" "checkpoint of session" 2 [
        thread_id checkpoint_id parent_checkpoint_id branch position snapshot changes metadata
    ]
    ARTIFACT "artifact" "artifact" 1 [hash media preview size packed created]
    ARTIFACT_USE "artifact_use" "artifact of session" 2 [session hash]
    ARTIFACT_TEXT "artifact_text" "indexed artifact" 1 [key hash]
    USAGE "usage" "model call of session" 2 [
        session number position model input cache_read cache_write output price latency created
    ]
    JOB "job" "job" 1 [
        key kind session payload state attempts most due worker error created
    ]
    PREFERENCE "preference" "preference of user" 2 [user_id name value]
    LEASE "lease" "lease of session" 1 [session holder token expires length]
    CONVERSATION "conversation" "conversation" 2 [id user_id session said position]
    VECTOR "vector" "vector of encoder" 2 [model content numbers]
    NOTE_VECTOR "note_vector" "vector of a memory's line, of encoder" 3 [model memory hash numbers]
}

impl Table {
    /// Returns the expression that computes the checksum of a row. `prefix` is the alias of the
    /// table with a dot, or empty.
    fn computed(&self, dialect: Dialect, prefix: &str) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{prefix}{column}")).collect();
        let columns = columns.join(", ");
        match dialect {
            Dialect::Sqlite => format!("{FUNCTION}({columns})"),
            Dialect::Postgres => format!("hash_record_extended(ROW({columns}), 0)"),
        }
    }

    /// Returns the definition of the checksum column.
    pub(super) fn definition(&self, dialect: Dialect) -> String {
        let computed = self.computed(dialect, "");
        dialect.translate(&format!("checksum {{int}} GENERATED ALWAYS AS ({computed}) STORED"))
    }

    /// Returns the condition that a row is intact. `prefix` is the alias of the table with a dot,
    /// or empty.
    pub(crate) fn is_intact(&self, dialect: Dialect, prefix: &str) -> String {
        format!("{prefix}checksum IS NOT DISTINCT FROM {}", self.computed(dialect, prefix))
    }

    /// Returns a description of each damaged row: of all rows, or of those with a value in a
    /// column.
    pub(crate) fn damaged(
        &self,
        connection: &mut dyn Connection,
        only: Option<(&str, &str)>,
    ) -> Result<Vec<Phrase>> {
        let keys = self.columns.get(..self.keys).unwrap_or_default();
        let mut sql = format!(
            "SELECT {} FROM {} WHERE NOT ({})",
            keys.join(", "),
            self.name,
            self.is_intact(connection.dialect(), "")
        );
        let mut values = Vec::new();
        if let Some((column, value)) = only {
            sql.push_str(&format!(" AND {column} = $1"));
            values.push(Value::from(value));
        }
        let rows = connection.rows(&sql, &values)?;
        let describe = |row: super::Row| {
            let keys: Vec<String> = row.0.iter().map(shown).collect();
            self.mismatch(&keys.join(", "))
        };
        Ok(rows.into_iter().map(describe).collect())
    }

    /// Describes a row that does not match its checksum.
    pub(crate) fn mismatch(&self, keys: &str) -> Phrase {
        phrase!(
            "damage-row",
            "{kind} {keys}: its values do not match its checksum",
            kind = self.kind(),
            keys = keys
        )
    }

    /// Returns what a row is, for reports of damage.
    pub(crate) fn kind(&self) -> Phrase {
        // The wordings of the other languages depend on the table.
        phrase!("damage-kind", "{what}", what = self.what, table = self.name)
    }

    /// Returns an expression that is 1 if a row is intact, else 0.
    pub(crate) fn intact(&self, dialect: Dialect, prefix: &str) -> String {
        format!("CASE WHEN {} THEN 1 ELSE 0 END", self.is_intact(dialect, prefix))
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "(none)".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => hash_name(bytes),
    }
}
