//! Sessions: a tip in the message tree with an id, settings and state.

mod rows;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{LogError, Result};
use crate::log::Log;
use crate::store::values;
use crate::tree::Tip;

pub(crate) use rows::{
    advance, check_id, columns, forked_from, insert, list, list_readable, load, load_readable,
    lock, put, put_state, update,
};

/// The key in [`Session::local`] for the time of the newest import, in milliseconds since 1970. The
/// only one that the log reads.
const IMPORTED_AT: &str = "imported_at";

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
    /// The model that the session works with.
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
    /// Where the session is in the tree of messages.
    pub tip: Tip,
    /// When the session was created, in milliseconds since 1970.
    pub created: i64,
    /// When the session was last used, in milliseconds since 1970.
    pub active: i64,
    /// The database key of the newest stored request context ([`Log::commit`]).
    pub request_context: Option<i64>,
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
            request_context: None,
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

    /// Records in [`Session::local`] that messages are imported at this time. They keep their own
    /// times, so [`Session::active`] does not say it.
    pub fn set_imported_at(&mut self, now: i64) {
        self.local.insert(IMPORTED_AT.to_owned(), now.into());
    }

    /// Returns the time from which clean-ups count: the last use or the newest import, whichever is
    /// later.
    #[must_use]
    pub fn idle_since(&self) -> i64 {
        let imported = self.local.get(IMPORTED_AT).and_then(Value::as_i64);
        imported.map_or(self.active, |imported| imported.max(self.active))
    }

    /// Returns an empty session with a generated id.
    #[must_use]
    pub fn with_new_id() -> Self {
        Self::new(new_id())
    }
}

/// Returns the stored form of a document.
pub(crate) fn text(document: &Document) -> String {
    Value::Object(document.clone()).to_string()
}

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

impl Log {
    /// Creates a session and returns it as stored. Sets `created` and `active` to the current time
    /// if they are 0.
    ///
    /// # Errors
    /// If the id is taken or invalid.
    pub fn create(&self, session: Session) -> Result<Session> {
        let now = self.now();
        check_id(&session.id)?;
        self.write(move |connection| {
            let time = |time: i64| if time == 0 { now } else { time };
            let session = Session {
                created: time(session.created),
                active: time(session.active),
                ..session.clone()
            };
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
            match load(connection, prefix) {
                Err(LogError::NoSession { .. }) => {}
                found => return found,
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

    /// Returns the sessions that `filter` selects, most recently used first. A damaged session is
    /// listed as far as it can be read; [`Log::session`] reports the damage.
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

    /// Sets when a session was last used, in milliseconds since 1970. Imports use it: what they
    /// store was added earlier.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub fn set_active(&self, session: &str, time: i64) -> Result<()> {
        let id = session.to_owned();
        self.write(move |connection| {
            let sql = "UPDATE session SET active = $1 WHERE id = $2";
            connection.run(sql, values![time, &id]).map(drop)
        })
    }
}
