//! Preferences of a user, which apply to all of the user's sessions.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::log::Log;
use crate::store::{Connection, values};

impl Log {
    /// Returns the preferences of a user, by name.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn preferences(&self, user: &str) -> Result<BTreeMap<String, String>> {
        self.read(|connection| {
            let rows = connection
                .rows("SELECT name, value FROM preference WHERE user_id = $1", values![user])?;
            Ok(rows.into_iter().map(|mut row| (row.text(0), row.text(1))).collect())
        })
    }

    /// Sets a preference of a user, or deletes it if `value` is `None`.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn set_preference(&self, user: &str, name: &str, value: Option<&str>) -> Result<()> {
        let user = user.to_owned();
        let name = name.to_owned();
        let value = value.map(str::to_owned);
        self.write(move |connection| set(connection, &user, &name, value.as_deref()))
    }
}

pub(crate) fn set(
    connection: &mut dyn Connection,
    user: &str,
    name: &str,
    value: Option<&str>,
) -> Result<()> {
    let changed = match value {
        Some(value) => {
            let sql = "INSERT INTO preference (user_id, name, value) VALUES ($1, $2, $3) \
                       ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value";
            connection.run(sql, values![user, name, value])
        }
        None => connection
            .run("DELETE FROM preference WHERE user_id = $1 AND name = $2", values![user, name]),
    };
    changed.map(drop)
}
