//! Work that goes from one role to another: a package of paths and words, said to a session of the other role.

use serde_json::Value;
use waterline_log::{Log, LogError, Session, State, kept};

use crate::outcome::HandedOff;

/// Where the state keeps the role, how often work was handed over, and the session of each role.
const ROLE: &str = "role";
const TRANSFERS: &str = "transfers";
const SESSIONS: &str = kept::ROLES;

/// The role that a session is held in.
#[must_use]
pub fn of(state: &State) -> Option<&str> {
    state.other.get(ROLE).and_then(Value::as_str)
}

/// Puts a session into a role. It stays in it.
pub fn put(state: &mut State, role: &str) {
    state.other.entry(ROLE).or_insert_with(|| Value::from(role));
}

/// How often work was handed over in this run.
pub(crate) fn transfers(state: &State) -> u64 {
    state.other.get(TRANSFERS).and_then(Value::as_u64).unwrap_or(0)
}

/// A run of hand-offs ends with what a person says.
pub(crate) fn forget_transfers(state: &mut State) {
    state.other.remove(TRANSFERS);
}

/// Work that was handed over.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The session that goes on.
    pub session: Session,
    /// What is said to it.
    pub text: String,
}

/// Makes ready the session of the role that goes on: the one it had in this run, or a new one.
///
/// # Errors
/// When the log cannot be written.
pub fn transfer(log: &Log, from: &Session, to: &str, package: &Value) -> Result<Transfer, LogError> {
    let own = of(&from.state).unwrap_or("main").to_owned();
    let made = transfers(&from.state) + 1;
    let mut sessions = match from.state.other.get(SESSIONS) {
        Some(Value::Object(sessions)) => sessions.clone(),
        _ => serde_json::Map::new(),
    };
    sessions.insert(own.clone(), Value::from(from.id.as_str()));
    let known = sessions.get(to).and_then(Value::as_str).map(|id| log.session(id)).transpose()?;
    let mut session = match known {
        Some(session) => session,
        None => {
            let mut session = Session::with_new_id();
            session.title = format!("{to}: {}", from.title);
            session.parent = Some(from.id.clone());
            session.user.clone_from(&from.user);
            // Both roles work on the same files.
            session.state.workspace_path.clone_from(&from.state.workspace_path);
            let owner = from.state.other.get(kept::WORKSPACE_OF).and_then(Value::as_str).unwrap_or(&from.id);
            session.state.other.insert(kept::WORKSPACE_OF.to_owned(), Value::from(owner));
            log.create(session)?
        }
    };
    sessions.insert(to.to_owned(), Value::from(session.id.as_str()));
    for side in [&mut session, &mut from.clone()] {
        let role = if side.id == from.id { &own } else { to };
        let state = &mut side.state.other;
        state.insert(ROLE.to_owned(), Value::from(role));
        state.insert(TRANSFERS.to_owned(), Value::from(made));
        state.insert(SESSIONS.to_owned(), Value::Object(sessions.clone()));
        // Who goes on gives the answer, so it must have its form.
        side.state.response_format = if side.id == from.id { Value::Null } else { from.state.response_format.clone() };
        if side.id == from.id {
            HandedOff { to: to.to_owned(), package: package.clone(), done: true }.store(&mut side.state);
        }
        log.save(side)?;
    }
    let tag = format!("{own}_to_{to}_context");
    let package = serde_json::to_string_pretty(package).unwrap_or_default();
    Ok(Transfer { session, text: format!("<{tag}>\n{package}\n</{tag}>") })
}
