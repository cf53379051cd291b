//! Sessions: a named tip in the tree, and what belongs to it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::{Connection, Row, values};
use crate::toolset;
use crate::tree::Tip;

/// A JSON object that the log stores and does not read.
pub type Document = Map<String, Value>;

/// How a session stands to its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relation {
    /// It has none.
    #[default]
    Main,
    /// It goes on from a message of its parent.
    Fork,
    /// Its parent started it for a task.
    SubAgent,
}

impl Relation {
    /// The word for it.
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

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// Its id; also the id of its thread.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// Whose it is.
    pub user: Option<String>,
    /// The session it came from.
    pub parent: Option<String>,
    /// How it stands to it.
    pub relation: Relation,
    /// `main`, or `subagent-` and eight digits.
    pub context_id: String,
    /// The context that started it.
    pub parent_context: Option<String>,
    /// The model it is held with.
    pub model: Option<String>,
    /// Its policy.
    pub policy: Option<String>,
    /// Keys of the policy that are set otherwise.
    pub overrides: BTreeMap<String, String>,
    /// What its host keeps with it. Forks, checkpoints and exports carry it.
    pub state: Document,
    /// What its host keeps about this user and this machine: consent, calls under way. Nothing
    /// carries it: a fork, an import and an export begin without it.
    pub local: Document,
    /// The directory its tools work in. A fork begins from it; exports and imports do not carry it.
    pub workspace: Option<String>,
    /// How many of its first messages were imported: nobody here asked for what they ask for.
    pub imported: u64,
    /// The hash of the tool definitions it is held with ([`Log::tools`]).
    pub tools: Option<String>,
    /// Where it stands.
    pub tip: Tip,
    /// When it was made, in milliseconds since 1970.
    pub created: i64,
    /// When it was last used.
    pub active: i64,
    /// The newest step of what it sent, by the number that the log gave it.
    pub frozen: Option<i64>,
}

impl Session {
    /// A session without messages.
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

    /// A session for a task of `parent`, with a history of its own. Its context id is its id.
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

    /// A session under a new id.
    #[must_use]
    pub fn with_new_id() -> Self {
        Self::new(uuid::Uuid::new_v4().simple().to_string())
    }

    pub(crate) fn of(name: &str, mut row: Row) -> Result<Self> {
        let damaged = |what: &str, id: &str| LogError::Damaged {
            name: name.to_owned(),
            text: format!("the {what} of session {id}"),
        };
        let id = row.text(0);
        let (overrides, state, local) = (row.text(12), row.text(13), row.text(16));
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
            tools: row.peek(19).map(toolset::name),
            created: row.int(14),
            active: row.int(15),
            id,
        })
    }

    fn overrides_json(&self) -> String {
        serde_json::to_string(&self.overrides).unwrap_or_default()
    }
}

/// A document as it is stored.
pub(crate) fn text(document: &Document) -> String {
    Value::Object(document.clone()).to_string()
}

const COLUMNS: &str = "id, branch, position, frozen, title, user_id, parent, relation, context_id, parent_context, model, \
                       policy, overrides, state, created, active, local, workspace, imported, tools";

/// Which sessions are listed.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those of this user.
    pub user: Option<String>,
    /// Only those that came from this one.
    pub parent: Option<String>,
    /// Only those not used since this time.
    pub idle_since: Option<i64>,
}

pub(crate) fn load(connection: &mut dyn Connection, id: &str) -> Result<Session> {
    let sql = format!("SELECT {COLUMNS} FROM session WHERE id = $1");
    let row = connection
        .row(&sql, values![id])?
        .ok_or_else(|| LogError::NoSession { id: id.to_owned() })?;
    Session::of(connection.name(), row)
}

/// The session, which nobody else changes meanwhile: what is added to it is numbered, or added only
/// once.
pub(crate) fn hold(connection: &mut dyn Connection, id: &str) -> Result<Session> {
    let hold = connection.dialect().hold();
    if !hold.is_empty() {
        connection.rows(&format!("SELECT id FROM session WHERE id = $1 {hold}"), values![id])?;
    }
    load(connection, id)
}

/// A session and those it was forked from, nearest first.
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
         AND (CAST($2 AS TEXT) IS NULL OR parent = $2) AND (CAST($3 AS BIGINT) IS NULL OR active < $3) \
         ORDER BY active DESC, id"
    );
    let values =
        values![filter.user.as_deref(), filter.parent.as_deref(), filter.idle_since].to_vec();
    let rows = connection.rows(&sql, &values)?;
    rows.into_iter().map(|row| Session::of(connection.name(), row)).collect()
}

/// Whether an id can be written on a command line and a screen.
pub(crate) fn check_id(id: &str) -> Result<()> {
    if id.trim().is_empty() || id.len() > 400 || id.chars().any(char::is_control) {
        let shown: String = id.chars().take(40).collect();
        let text =
            format!("{shown:?} is no id of a session: one to 400 bytes, no control characters");
        return Err(LogError::Refused(text));
    }
    Ok(())
}

/// Puts a session in; `false` when its id is taken.
pub(crate) fn insert(connection: &mut dyn Connection, session: &Session) -> Result<bool> {
    let sql = format!(
        "INSERT INTO session ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
         $17, $18, $19, $20) \
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
        session.tools.as_deref().and_then(toolset::hash),
    ];
    Ok(connection.run(&sql, values)? == 1)
}

/// Moves a tip forward, if it is where it is thought to be; what was sent stays what it is, whoever
/// changes that meanwhile. Says whether it was there.
pub(crate) fn advance(
    connection: &mut dyn Connection,
    session: &Session,
    tip: Tip,
    now: i64,
) -> Result<bool> {
    let sql = "UPDATE session SET branch = $1, position = $2, active = $3 WHERE id = $4 AND branch = $5 AND position = $6";
    let (from, id) = (session.tip, &session.id);
    Ok(connection
        .run(sql, values![tip.branch, tip.position, now, id, from.branch, from.position])?
        == 1)
}

/// Moves a tip and what was sent, if both are what they are thought to be.
pub(crate) fn put(
    connection: &mut dyn Connection,
    session: &Session,
    tip: Tip,
    frozen: Option<i64>,
    now: i64,
) -> Result<bool> {
    let sql = "UPDATE session SET branch = $1, position = $2, frozen = $3, active = $4 \
               WHERE id = $5 AND branch = $6 AND position = $7 AND frozen IS NOT DISTINCT FROM CAST($8 AS BIGINT)";
    let (from, id) = (session.tip, &session.id);
    let values = values![
        tip.branch,
        tip.position,
        frozen,
        now,
        id,
        from.branch,
        from.position,
        session.frozen
    ];
    Ok(connection.run(sql, values)? == 1)
}

impl Log {
    /// Makes a session, used now; made now too, unless it says when.
    ///
    /// # Errors
    /// When a session of its id is there already, or the id is none.
    pub fn create(&self, session: Session) -> Result<Session> {
        let now = self.now();
        check_id(&session.id)?;
        self.write(move |connection| {
            let created = if session.created == 0 { now } else { session.created };
            let session = Session { created, active: now, ..session.clone() };
            let made = insert(connection, &session)?;
            if made { Ok(session) } else { Err(LogError::Exists { id: session.id }) }
        })
    }

    /// Makes a session for a task of another one.
    ///
    /// # Errors
    /// When the parent is not there.
    pub fn create_sub_agent(&self, parent: &str) -> Result<Session> {
        let parent = self.session(parent)?;
        loop {
            // Eight digits are few: an id that is taken is drawn again.
            match self.create(Session::sub_agent(&parent)) {
                Err(LogError::Exists { .. }) => {}
                outcome => return outcome,
            }
        }
    }

    /// The session of an id.
    ///
    /// # Errors
    /// When there is none.
    pub fn session(&self, id: &str) -> Result<Session> {
        self.read(|connection| load(connection, id))
    }

    /// The session whose id begins so.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, prefix: &str) -> Result<Session> {
        self.read(|connection| {
            if let Ok(exact) = load(connection, prefix) {
                return Ok(exact);
            }
            let sql = "SELECT id FROM session WHERE LENGTH($1) > 0 AND SUBSTR(id, 1, LENGTH($1)) = $1 \
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

    /// Sessions, the one used last first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn sessions(&self, filter: &Filter) -> Result<Vec<Session>> {
        self.read(|connection| list(connection, filter))
    }

    /// Stores title, user, model, policy, documents and workspace of a session. Its tip is moved by
    /// appending and rewinding only, its tools are set by [`Log::set_tools`].
    ///
    /// # Errors
    /// When there is no such session.
    pub fn save(&self, session: &Session) -> Result<()> {
        let (session, now) = (session.clone(), self.now());
        self.write(move |connection| update(connection, &session, now))
    }
}

/// Stores what [`Log::save`] stores.
pub(crate) fn update(connection: &mut dyn Connection, session: &Session, now: i64) -> Result<()> {
    let sql = "UPDATE session SET title = $1, user_id = $2, model = $3, policy = $4, overrides = $5, state = $6, \
               active = $7, local = $8, workspace = $9, imported = $10 WHERE id = $11";
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
