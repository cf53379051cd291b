//! Hands work from one role to another: a package of paths and a summary becomes a message in the
//! session of the other role.

use serde_json::Value;
use waterline_log::{Log, Session};

use crate::approval::Approval;
use crate::error::AgentError;
use crate::state::{HandedOff, Local, State, edit};

/// A completed hand-off.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Transfer {
    /// The session of the role that takes over.
    pub session: Session,
    /// The message for that session.
    pub text: String,
}

/// Prepares the session of the role that takes over: its existing session, or a new one.
///
/// # Errors
/// When the log cannot be written, or the stored state does not parse.
pub fn transfer(
    log: &Log,
    from: &Session,
    to: &str,
    package: &Value,
) -> Result<Transfer, AgentError> {
    let state = State::of(from)?;
    let local = Local::of(from)?;
    let own = state.role.clone().unwrap_or_else(|| "main".to_owned());
    let transfers = state.transfers + 1;
    let mut sessions = local.roles.clone();
    sessions.insert(own.clone(), from.id.clone());
    let mut session = match sessions.get(to) {
        Some(id) => log.session(id)?,
        None => log.create(new_session(from, &local, to)?)?,
    };
    sessions.insert(to.to_owned(), session.id.clone());
    edit(&mut session, |other_state, local| {
        other_state.role = Some(to.to_owned());
        other_state.transfers = transfers;
        // The role that takes over gives the answer, which must match the schema.
        other_state.schema.clone_from(&state.schema);
        local.roles.clone_from(&sessions);
    })?;
    log.save(&session)?;
    let mut from = from.clone();
    edit(&mut from, |state, local| {
        state.role = Some(own.clone());
        state.transfers = transfers;
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

/// Returns a new session for another role. Both roles work in the same workspace.
fn new_session(from: &Session, local: &Local, to: &str) -> Result<Session, AgentError> {
    let mut session = Session::with_new_id();
    session.title = format!("{to}: {}", from.title);
    session.parent = Some(from.id.clone());
    session.user.clone_from(&from.user);
    session.workspace.clone_from(&from.workspace);
    let owner = local.workspace_of.clone().unwrap_or_else(|| from.id.clone());
    // What the user approved for a directory holds for the whole work.
    let approvals: Vec<String> =
        local.approvals.iter().filter(|approval| Approval::is_change(approval)).cloned().collect();
    edit(&mut session, |_, local| {
        local.workspace_of = Some(owner);
        local.approvals = approvals;
    })?;
    Ok(session)
}
