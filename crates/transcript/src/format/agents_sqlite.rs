//! Databases of OpenAI Agents `SQLiteSession`: many sessions, one Responses item per row.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Row};
use waterline::message::{Message, Role, Wire};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline_provider::wire;

use crate::notice::Notice;
use crate::transcript::{Compaction, Entry, Transcript};

pub(crate) const NAME: &str = "openai-agents";

/// All rows in order. If sessions have branches, only the rows of the main branch: the others were
/// abandoned.
const ROWS: &str =
    "SELECT id, session_id, message_data, CAST(strftime('%s', created_at) AS INTEGER)
    FROM agent_messages ORDER BY session_id, id";
const ROWS_OF_MAIN: &str =
    "SELECT m.id, m.session_id, m.message_data, CAST(strftime('%s', m.created_at) AS INTEGER)
    FROM agent_messages m JOIN message_structure s ON s.message_id = m.id
    WHERE s.branch_id = 'main' ORDER BY m.session_id, s.sequence_number";

/// Opens a database read-only and passes each session to `emit` when the next one starts.
pub(crate) fn read(
    path: &Path,
    notices: &mut Vec<Notice>,
    mut emit: impl FnMut(Transcript) -> ControlFlow<()>,
) -> Result<(), rusqlite::Error> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let has_branches: bool = database.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master
            WHERE type = 'table' AND name = 'message_structure')",
        [],
        |row| row.get(0),
    )?;
    let mut statement = database.prepare(if has_branches { ROWS_OF_MAIN } else { ROWS })?;
    let mut rows = statement.query([])?;
    let mut found: Vec<Transcript> = Vec::new();
    while let Some(row) = rows.next()? {
        if let Err(text) = read_row(&mut found, row)? {
            notices.push(Notice { line: None, text });
        }
        if found.len() > 1 && emit(found.remove(0)).is_break() {
            return Ok(());
        }
    }
    let _ = found.into_iter().try_for_each(emit);
    Ok(())
}

/// Adds a row to its session. The inner error says why the row is invalid.
fn read_row(
    found: &mut Vec<Transcript>,
    row: &Row<'_>,
) -> Result<Result<(), Phrase>, rusqlite::Error> {
    let id: i64 = row.get(0)?;
    let session: String = row.get(1)?;
    let json: String = row.get(2)?;
    let time: Option<i64> = row.get(3)?;
    let message = match wire::message(&json, Wire::OPENAI_RESPONSES) {
        Ok(message) => message,
        Err(error) => {
            return Ok(Err(phrase!(
                "transcript-row",
                "row {id} of agent_messages: {cause}",
                id = id.to_string(),
                cause = error
            )));
        }
    };
    if found.last().is_none_or(|last| last.id != session) {
        found.push(Transcript::new(session, Wire::OPENAI_RESPONSES));
    }
    if let Some(transcript) = found.last_mut() {
        add(transcript, message, &json, time);
    }
    Ok(Ok(()))
}

/// Adds an item. The items that one model call produced become one message, and so do the results
/// of its tools.
fn add(found: &mut Transcript, mut message: Message, json: &str, time: Option<i64>) {
    if json.contains("\"type\": \"compaction\"") || json.contains("\"type\":\"compaction\"") {
        found.compactions.push(Compaction { at: found.entries.len(), ..Compaction::default() });
    }
    message.extra.clear();
    let joins = matches!(message.role, Role::Assistant | Role::Tool);
    match found.entries.last_mut().filter(|last| joins && last.message.role == message.role) {
        Some(last) => last.message.parts.append(&mut message.parts),
        None => {
            let index = found.entries.len();
            found.entries.push(Entry { time, ..Entry::of(message, index) });
        }
    }
}
