//! Undoes a fold. The undo is recorded as a move, so it can be undone too.

use crate::error::{LogError, Result};
use crate::generation::{CHAIN, generation_of};
use crate::log::Log;
use crate::navigate::{Kind, record_with};
use crate::refusal::Refusal;
use crate::session;
use crate::store::values;

impl Log {
    /// Undoes the newest fold: the session uses the request context from before it again. Messages
    /// since the fold stay.
    ///
    /// # Errors
    /// If the session has not been folded.
    pub fn undo_fold(&self, session: &str) -> Result<()> {
        let id = session.to_owned();
        let now = self.now();
        self.write(move |connection| {
            let session = session::load(connection, &id)?;
            let Some(key) = session.request_context else {
                return Err(nothing_to_undo(&id));
            };
            let generation = generation_of(connection, key)?;
            let number = connection
                .number("SELECT number FROM generation WHERE key = $1", values![generation])?;
            if number == 0 {
                return Err(nothing_to_undo(&id));
            }
            let sql = format!("{CHAIN} SELECT MAX(key) FROM chain WHERE generation <> $2");
            let before =
                connection.row(&sql, values![key, generation])?.and_then(|row| row.maybe_int(0));
            record_with(connection, &session, Kind::UndoFold, session.tip, before, now)
        })
    }
}

fn nothing_to_undo(session: &str) -> LogError {
    LogError::Refused(Refusal::NotFolded(session.to_owned()))
}
