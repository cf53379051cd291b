//! Sessions: a tip in the message tree with an id, settings and state.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::encoding::{hash_name, parse_hash};
use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::{Connection, Row, values};
use crate::tree::Tip;

/// A JSON object that the log stores without interpreting it.
pub type Document = Map<String, Value>;

/// Returns a new random id.
#[must_use]
pub fn new_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// The relation of a session to its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    /// Neither a fork nor a sub-agent.
    #[default]
    Main,
    /// The session continues from a message of its parent.
    Fork,
    /// The parent started the session for a task.
    SubAgent,
}

impl Relation {
    /// Returns the name that the log stores and exports use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Fork => "fork",
            Self::SubAgent => "sub-agent",
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        [Self::Fork, Self::SubAgent]
            .into_iter()
            .find(|relation| relation.name() == name)
            .unwrap_or_default()
    }
}

/// A session: a conversation with its settings and state.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The id; also the thread id of its checkpoints.
    pub id: String,
    /// The title, for display.
    pub title: String,
    /// The user who owns the session.
    pub user: Option<String>,
    /// The session that this one was forked from or started by.
    pub parent: Option<String>,
    /// The relation to the parent.
    pub relation: Relation,
    /// `main`, or `subagent-` and eight hexadecimal digits.
    pub context_id: String,
    /// The context id of the parent.
    pub parent_context: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The name of the policy.
    pub policy: Option<String>,
    /// Policy keys that differ from the policy's own values.
    pub overrides: BTreeMap<String, String>,
    /// The application's state. Forks, checkpoints and exports include it.
    pub state: Document,
    /// The application's data about this user and this machine, such as approvals and running
    /// calls. Forks, exports and imports never include it.
    pub local: Document,
    /// The directory that the tools work in. A fork inherits it; exports and imports do not include
    /// it.
    pub workspace: Option<String>,
    /// How many of the first messages were imported. They are untrusted: no user of this log wrote
    /// the requests in them.
    pub imported: u64,
    /// The hash of the tool definitions that the session uses ([`Log::tools`]).
    pub tools: Option<String>,
    /// The newest message.
    pub tip: Tip,
    /// When the session was created, in milliseconds since 1970.
    pub created: i64,
    /// When the session was last used, in milliseconds since 1970.
    pub active: i64,
    /// The database key of the newest stored request context ([`Log::freeze`]).
    pub frozen: Option<i64>,
}

impl Session {
    /// Returns an empty session with this id. [`Log::create`] stores it.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            title: String::new(),
            user: None,
            parent: None,
            relation: Relation::Main,
            context_id: "main".to_owned(),
            parent_context: None,
            model: None,
            policy: None,
            overrides: BTreeMap::new(),
            state: Document::new(),
            local: Document::new(),
            workspace: None,
            imported: 0,
            tools: None,
            tip: Tip::EMPTY,
            created: 0,
            active: 0,
            frozen: None,
        }
    }

    /// Returns an empty session for a task of `parent`. Its id is also its context id.
    #[must_use]
    pub fn sub_agent(parent: &Self) -> Self {
        let digits: String = uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect();
        let context_id = format!("subagent-{digits}");
        Self {
            parent: Some(parent.id.clone()),
            relation: Relation::SubAgent,
            parent_context: Some(parent.context_id.clone()),
            user: parent.user.clone(),
            context_id: context_id.clone(),
            ..Self::new(context_id)
        }
    }

    /// Returns an empty session with a generated id.
    #[must_use]
    pub fn with_new_id() -> Self {
        Self::new(new_id())
    }

    pub(crate) fn of(name: &str, mut row: Row) -> Result<Self> {
        let damaged = |what: &str, id: &str| LogError::Damaged {
            name: name.to_owned(),
            text: format!("the {what} of session {id}"),
        };
        let id = row.text(0);
        let overrides = row.text(12);
        let state = row.text(13);
        let local = row.text(16);
        Ok(Self {
            tip: Tip { branch: row.int(1), position: row.count(2) },
            frozen: row.maybe_int(3),
            title: row.text(4),
            user: row.maybe_text(5),
            parent: row.maybe_text(6),
            relation: Relation::named(&row.text(7)),
            context_id: row.text(8),
            parent_context: row.maybe_text(9),
            model: row.maybe_text(10),
            policy: row.maybe_text(11),
            overrides: serde_json::from_str(&overrides).map_err(|_| damaged("settings", &id))?,
            state: serde_json::from_str(&state).map_err(|_| damaged("state", &id))?,
            local: serde_json::from_str(&local).map_err(|_| damaged("local state", &id))?,
            workspace: row.maybe_text(17),
            imported: row.count(18),
            tools: row.peek(19).map(hash_name),
            created: row.int(14),
            active: row.int(15),
            id,
        })
    }

    fn overrides_json(&self) -> String {
        serde_json::to_string(&self.overrides).unwrap_or_default()
    }
}

/// Returns the stored form of a document.
pub(crate) fn text(document: &Document) -> String {
    Value::Object(document.clone()).to_string()
}

const COLUMNS: &str = "id, branch, position, frozen, title, user_id, parent, relation, \
                       context_id, parent_context, model, policy, overrides, state, created, \
                       active, local, workspace, imported, tools";

/// Selects sessions for [`Log::sessions`]. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only sessions of this user.
    pub user: Option<String>,
    /// Only forks and sub-agents of this session.
    pub parent: Option<String>,
    /// Only sessions not used since this time, in milliseconds since 1970.
    pub idle_since: Option<i64>,
}

pub(crate) fn load(connection: &mut dyn Connection, id: &str) -> Result<Session> {
    let sql = format!("SELECT {COLUMNS} FROM session WHERE id = $1");
    let row = connection
        .row(&sql, values![id])?
        .ok_or_else(|| LogError::NoSession { id: id.to_owned() })?;
    Session::of(connection.name(), row)
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

pub(crate) fn list(connection: &mut dyn Connection, filter: &Filter) -> Result<Vec<Session>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM session WHERE (CAST($1 AS TEXT) IS NULL OR user_id = $1) \
         AND (CAST($2 AS TEXT) IS NULL OR parent = $2) \
         AND (CAST($3 AS BIGINT) IS NULL OR active < $3) \
         ORDER BY active DESC, id"
    );
    let values =
        values![filter.user.as_deref(), filter.parent.as_deref(), filter.idle_since].to_vec();
    let rows = connection.rows(&sql, &values)?;
    rows.into_iter().map(|row| Session::of(connection.name(), row)).collect()
}

/// Checks that an id can be typed on a command line and shown on a screen.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if id.trim().is_empty() || id.len() > 400 || id.chars().any(char::is_control) {
        let shown: String = id.chars().take(40).collect();
        return Err(LogError::Refused(format!(
            "invalid session id {shown:?}: use 1 to 400 bytes without control characters"
        )));
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
        session.frozen,
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
    frozen: Option<i64>,
    now: i64,
) -> Result<bool> {
    let sql = "UPDATE session SET branch = $1, position = $2, frozen = $3, active = $4 \
               WHERE id = $5 AND branch = $6 AND position = $7 \
               AND frozen IS NOT DISTINCT FROM CAST($8 AS BIGINT)";
    let from = session.tip;
    let values = values![
        tip.branch,
        tip.position,
        frozen,
        now,
        &session.id,
        from.branch,
        from.position,
        session.frozen
    ];
    Ok(connection.run(sql, values)? == 1)
}

impl Log {
    /// Creates a session and returns it as stored. Sets `active` to the current time, and `created`
    /// too if it is 0.
    ///
    /// # Errors
    /// If the id is taken or invalid.
    pub fn create(&self, session: Session) -> Result<Session> {
        let now = self.now();
        check_id(&session.id)?;
        self.write(move |connection| {
            let created = if session.created == 0 { now } else { session.created };
            let session = Session { created, active: now, ..session.clone() };
            let is_new = insert(connection, &session)?;
            if is_new { Ok(session) } else { Err(LogError::Exists { id: session.id }) }
        })
    }

    /// Creates an empty session for a task of the session `parent`.
    ///
    /// # Errors
    /// If the parent does not exist.
    pub fn create_sub_agent(&self, parent: &str) -> Result<Session> {
        let parent = self.session(parent)?;
        loop {
            // Eight digits can collide: draw another id if this one is taken.
            match self.create(Session::sub_agent(&parent)) {
                Err(LogError::Exists { .. }) => {}
                outcome => return outcome,
            }
        }
    }

    /// Returns the session with this id.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn session(&self, id: &str) -> Result<Session> {
        self.read(|connection| load(connection, id))
    }

    /// Returns the session whose id is, or starts with, `prefix`.
    ///
    /// # Errors
    /// If no session or more than one matches.
    pub fn find(&self, prefix: &str) -> Result<Session> {
        self.read(|connection| {
            if let Ok(exact) = load(connection, prefix) {
                return Ok(exact);
            }
            let sql = "SELECT id FROM session \
                       WHERE LENGTH($1) > 0 AND SUBSTR(id, 1, LENGTH($1)) = $1 \
                       ORDER BY active DESC, id LIMIT 6";
            let rows = connection.rows(sql, values![prefix])?;
            let mut matches: Vec<String> = rows.into_iter().map(|mut row| row.text(0)).collect();
            match matches.as_slice() {
                [id] => load(connection, id),
                [] => Err(LogError::NoSession { id: prefix.to_owned() }),
                _ => {
                    matches.truncate(5);
                    Err(LogError::Ambiguous { prefix: prefix.to_owned(), matches })
                }
            }
        })
    }

    /// Returns the sessions that `filter` selects, most recently used first.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn sessions(&self, filter: &Filter) -> Result<Vec<Session>> {
        self.read(|connection| list(connection, filter))
    }

    /// Stores the title, user, model, policy, overrides, documents, workspace and import count of a
    /// session. Other fields are ignored: appending and rewinding move the tip, and
    /// [`Log::set_tools`] sets the tools.
    ///
    /// # Errors
    /// If the session does not exist.
    pub fn save(&self, session: &Session) -> Result<()> {
        let session = session.clone();
        let now = self.now();
        self.write(move |connection| update(connection, &session, now))
    }
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
