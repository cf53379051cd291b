//! The rows of sessions: reading, listing, inserting and updating them.

use super::{Document, Filter, Relation, Session, text};
use crate::encoding::{hash_name, parse_hash};
use crate::error::{LogError, Result};
use crate::refusal::Refusal;
use crate::store::{Connection, Dialect, Row, checksum, values};
use crate::tree::Tip;
use waterline::phrase;

const COLUMNS: &str = "id, branch, position, frozen, title, user_id, parent, relation, \
                       context_id, parent_context, model, policy, overrides, state, created, \
                       active, local, workspace, imported, tools";

/// Returns the columns that [`Session::of`] reads.
pub(crate) fn columns(dialect: Dialect) -> String {
    format!("{COLUMNS}, {}", checksum::SESSION.intact(dialect, ""))
}

impl Session {
    fn of(name: &str, row: Row) -> Result<Self> {
        match Self::readable(row) {
            (session, true) => Ok(session),
            (session, false) => Err(LogError::Damaged {
                name: name.to_owned(),
                text: phrase!("damage-session", "session {id}", id = session.id),
            }),
        }
    }

    /// Returns what can be read of a row, and whether it is intact. Documents that cannot be read
    /// are empty.
    pub(crate) fn readable(mut row: Row) -> (Self, bool) {
        let mut is_intact = row.int(20) == 1;
        let mut document = |text: String| {
            serde_json::from_str(&text).unwrap_or_else(|_| {
                is_intact = false;
                Document::new()
            })
        };
        let state = document(row.text(13));
        let local = document(row.text(16));
        let overrides = serde_json::from_str(&row.text(12));
        is_intact &= overrides.is_ok();
        let session = Self {
            id: row.text(0),
            tip: Tip { branch: row.int(1), position: row.count(2) },
            request_context: row.maybe_int(3),
            title: row.text(4),
            user: row.maybe_text(5),
            parent: row.maybe_text(6),
            relation: Relation::named(&row.text(7)),
            context_id: row.text(8),
            parent_context: row.maybe_text(9),
            model: row.maybe_text(10),
            policy: row.maybe_text(11),
            overrides: overrides.unwrap_or_default(),
            state,
            local,
            workspace: row.maybe_text(17),
            imported: row.count(18),
            tools: row.peek(19).map(hash_name),
            created: row.int(14),
            active: row.int(15),
        };
        (session, is_intact)
    }

    fn overrides_json(&self) -> String {
        serde_json::to_string(&self.overrides).unwrap_or_default()
    }
}

pub(crate) fn load(connection: &mut dyn Connection, id: &str) -> Result<Session> {
    let row = row_of(connection, id)?;
    Session::of(connection.name(), row)
}

/// Returns what can be read of a session, and whether it is intact.
pub(crate) fn load_readable(connection: &mut dyn Connection, id: &str) -> Result<(Session, bool)> {
    row_of(connection, id).map(Session::readable)
}

fn row_of(connection: &mut dyn Connection, id: &str) -> Result<Row> {
    let sql = format!("SELECT {} FROM session WHERE id = $1", columns(connection.dialect()));
    let row = connection.row(&sql, values![id])?;
    row.ok_or_else(|| LogError::NoSession { id: id.to_owned() })
}

/// Loads a session and locks its row until the transaction ends. Callers that number new rows, or
/// add a row only once, need the lock.
pub(crate) fn lock(connection: &mut dyn Connection, id: &str) -> Result<Session> {
    let for_update = connection.dialect().for_update();
    if !for_update.is_empty() {
        let sql = format!("SELECT id FROM session WHERE id = $1 {for_update}");
        connection.rows(&sql, values![id])?;
    }
    load(connection, id)
}

/// Returns the ids of a session and of the sessions it was forked from, nearest first.
pub(crate) fn forked_from(
    connection: &mut dyn Connection,
    session: &Session,
) -> Result<Vec<String>> {
    let mut ids = vec![session.id.clone()];
    let mut next = session.clone();
    while let Some(parent) =
        next.parent.clone().filter(|id| next.relation == Relation::Fork && !ids.contains(id))
    {
        match load(connection, &parent) {
            Ok(found) => next = found,
            Err(LogError::NoSession { .. }) => break,
            Err(error) => return Err(error),
        }
        ids.push(parent);
    }
    Ok(ids)
}

/// Returns the sessions that a filter selects. Damaged ones are included as far as they can be
/// read: they must not hide the others, and loading them reports the damage.
pub(crate) fn list(connection: &mut dyn Connection, filter: &Filter) -> Result<Vec<Session>> {
    Ok(list_readable(connection, filter)?.into_iter().map(|(session, _)| session).collect())
}

/// Like [`list`], but also returns whether each session is intact.
pub(crate) fn list_readable(
    connection: &mut dyn Connection,
    filter: &Filter,
) -> Result<Vec<(Session, bool)>> {
    let sql = format!(
        "SELECT {} FROM session WHERE (CAST($1 AS TEXT) IS NULL OR user_id = $1) \
         AND (CAST($2 AS TEXT) IS NULL OR parent = $2) \
         AND (CAST($3 AS BIGINT) IS NULL OR active < $3) \
         ORDER BY active DESC, id",
        columns(connection.dialect())
    );
    let values =
        values![filter.user.as_deref(), filter.parent.as_deref(), filter.idle_since].to_vec();
    Ok(connection.rows(&sql, &values)?.into_iter().map(Session::readable).collect())
}

/// Checks that an id can be typed on a command line and shown on a screen.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if id.trim().is_empty() || id.len() > 400 || id.chars().any(char::is_control) {
        let shown: String = id.chars().take(40).collect();
        return Err(LogError::Refused(Refusal::SessionId(shown)));
    }
    Ok(())
}

/// Inserts a session. Returns `false` if its id is taken.
pub(crate) fn insert(connection: &mut dyn Connection, session: &Session) -> Result<bool> {
    let sql = format!(
        "INSERT INTO session ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
         $12, $13, $14, $15, $16, $17, $18, $19, $20) \
         ON CONFLICT (id) DO NOTHING"
    );
    let values = values![
        &session.id,
        session.tip.branch,
        session.tip.position,
        session.request_context,
        &session.title,
        session.user.as_ref(),
        session.parent.as_ref(),
        session.relation.name(),
        &session.context_id,
        session.parent_context.as_ref(),
        session.model.as_ref(),
        session.policy.as_ref(),
        session.overrides_json(),
        text(&session.state),
        session.created,
        session.active,
        text(&session.local),
        session.workspace.as_ref(),
        session.imported,
        session.tools.as_deref().and_then(parse_hash),
    ];
    Ok(connection.run(&sql, values)? == 1)
}

/// Moves a tip forward unless it has changed since `session` was loaded; returns whether it moved.
/// Leaves the stored request context alone, even if another writer changed it in between.
pub(crate) fn advance(
    connection: &mut dyn Connection,
    session: &Session,
    tip: Tip,
    now: i64,
) -> Result<bool> {
    let sql = "UPDATE session SET branch = $1, position = $2, active = $3 \
               WHERE id = $4 AND branch = $5 AND position = $6";
    let from = session.tip;
    let values = values![tip.branch, tip.position, now, &session.id, from.branch, from.position];
    Ok(connection.run(sql, values)? == 1)
}

/// Moves a tip and the stored request context unless either has changed since `session` was loaded;
/// returns whether they moved.
pub(crate) fn put(
    connection: &mut dyn Connection,
    session: &Session,
    tip: Tip,
    request_context: Option<i64>,
    now: i64,
) -> Result<bool> {
    let sql = "UPDATE session SET branch = $1, position = $2, frozen = $3, active = $4 \
               WHERE id = $5 AND branch = $6 AND position = $7 \
               AND frozen IS NOT DISTINCT FROM CAST($8 AS BIGINT)";
    let from = session.tip;
    let values = values![
        tip.branch,
        tip.position,
        request_context,
        now,
        &session.id,
        from.branch,
        from.position,
        session.request_context
    ];
    Ok(connection.run(sql, values)? == 1)
}

/// Stores the state of a session.
pub(crate) fn put_state(connection: &mut dyn Connection, session: &Session) -> Result<()> {
    let sql = "UPDATE session SET state = $1 WHERE id = $2";
    connection.run(sql, values![text(&session.state), &session.id]).map(drop)
}

/// Stores the fields of a session that [`Log::save`] stores.
pub(crate) fn update(connection: &mut dyn Connection, session: &Session, now: i64) -> Result<()> {
    let sql = "UPDATE session SET title = $1, user_id = $2, model = $3, policy = $4, \
               overrides = $5, state = $6, active = $7, local = $8, workspace = $9, imported = $10 \
               WHERE id = $11";
    let values = values![
        &session.title,
        session.user.as_ref(),
        session.model.as_ref(),
        session.policy.as_ref(),
        session.overrides_json(),
        text(&session.state),
        now,
        text(&session.local),
        session.workspace.as_ref(),
        session.imported,
        &session.id,
    ];
    match connection.run(sql, values)? {
        1 => Ok(()),
        _ => Err(LogError::NoSession { id: session.id.clone() }),
    }
}
