//! Work that goes from one role to another: a package of paths and words, said to a session of the
//! other role.

use serde_json::Value;
use waterline_log::{Log, Session};

use crate::error::AgentError;
use crate::state::{HandedOff, Local, State, edit};

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
/// When the log cannot be written, or what a session carries cannot be read.
pub fn transfer(
    log: &Log,
    from: &Session,
    to: &str,
    package: &Value,
) -> Result<Transfer, AgentError> {
    let (state, local) = (State::of(from)?, Local::of(from)?);
    let own = state.role.clone().unwrap_or_else(|| "main".to_owned());
    let made = state.transfers + 1;
    let mut sessions = local.roles.clone();
    sessions.insert(own.clone(), from.id.clone());
    let mut session = match sessions.get(to) {
        Some(id) => log.session(id)?,
        None => log.create(beside(from, &local, to)?)?,
    };
    sessions.insert(to.to_owned(), session.id.clone());
    edit(&mut session, |state_of_other, local| {
        state_of_other.role = Some(to.to_owned());
        state_of_other.transfers = made;
        // Who goes on gives the answer, so it must fit the schema.
        state_of_other.schema.clone_from(&state.schema);
        local.roles.clone_from(&sessions);
    })?;
    log.save(&session)?;
    let mut from = from.clone();
    edit(&mut from, |state, local| {
        state.role = Some(own.clone());
        state.transfers = made;
        state.schema = None;
        local.roles = sessions;
        local.hand_off =
            Some(HandedOff { to: to.to_owned(), package: package.clone(), done: true });
    })?;
    log.save(&from)?;
    let tag = format!("{own}_to_{to}_context");
    let package = serde_json::to_string_pretty(package).unwrap_or_default();
    Ok(Transfer { session, text: format!("<{tag}>\n{package}\n</{tag}>") })
}

/// A session for another role: both work on the same files.
fn beside(from: &Session, local: &Local, to: &str) -> Result<Session, AgentError> {
    let mut session = Session::with_new_id();
    session.title = format!("{to}: {}", from.title);
    session.parent = Some(from.id.clone());
    session.user.clone_from(&from.user);
    session.workspace.clone_from(&from.workspace);
    let owner = local.workspace_of.clone().unwrap_or_else(|| from.id.clone());
    edit(&mut session, |_, local| local.workspace_of = Some(owner))?;
    Ok(session)
}
