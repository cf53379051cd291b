//! How a command with an agent begins: its flags, and which session is gone on with, or a new one.

use std::sync::Arc;

use anyhow::{Result, bail};
use waterline_agent::{AgentConfig, role};
use waterline_config::{Config, Overrides};
use waterline_log::{Filter, Log, LogError, Relation, Session};

use crate::arguments::AgentArguments;
use crate::db::Database;
use crate::environment::environment;
use crate::ids;
use crate::lang::{self, say};
use crate::logging::LogArguments;

/// The flags of every command with an agent, behind its own.
#[derive(Debug, clap::Args)]
pub struct Flags {
    #[command(flatten)]
    agent: AgentArguments,
    #[command(flatten)]
    logging: LogArguments,
    #[command(flatten)]
    pub database: Database,
}

impl Flags {
    /// Begins to log, reads the config, and chooses the language.
    pub fn config(&self) -> Result<Config> {
        self.logging.begin()?;
        let config = Config::load(Arc::clone(environment()))?;
        lang::choose(self.agent.lang, config.settings.lang);
        Ok(config)
    }

    /// What the flags set, with the variables that count as flags.
    pub fn overrides(&self) -> Overrides {
        self.agent.overrides()
    }

    /// Whether the addresses of the project's file are approved for this run.
    pub const fn trusts_project(&self) -> bool {
        self.agent.trust_project
    }
}

/// The session of an id, if it is there. The beginning of an id is enough only for ids that were made for somebody: a name
/// that somebody chose may be the beginning of another.
pub fn known(log: &Log, id: &str) -> Result<Option<Session>> {
    match log.find(id) {
        Ok(session) if session.id == *id => Ok(Some(session)),
        Ok(session) if ids::is_made(&session.id) && ids::is_enough(id) => Ok(Some(session)),
        Err(error @ LogError::Ambiguous { .. }) if ids::is_enough(id) => Err(error.into()),
        Ok(_) | Err(LogError::NoSession { .. } | LogError::Ambiguous { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The session of an id, which must be there.
pub fn must_know(log: &Log, id: &str) -> Result<Session> {
    match known(log, id)? {
        Some(session) => Ok(session),
        None => Err(LogError::NoSession { id: id.to_owned() }.into()),
    }
}

/// Whether anything was said in a session: its first message is its prompt.
pub fn has_begun(session: &Session) -> bool {
    session.tip.position() > 1
}

/// Whether somebody may look for a session: one in which nothing was said yet, or that works for another, is not meant.
pub fn is_worth_it(session: &Session) -> bool {
    session.relation != Relation::SubAgent && has_begun(session)
}

/// The session that was used last and in which something was said; sub-agents are not taken up by themselves.
pub fn latest(log: &Log) -> Result<Session> {
    match log.sessions(&Filter::default())?.into_iter().find(is_worth_it) {
        Some(session) => Ok(session),
        None => bail!("there is no session to go on with yet"),
    }
}

/// The session that a conversation is to be held in.
pub struct Wanted {
    /// One that is there.
    pub known: Option<Session>,
    /// The id of a new one; one is made for it if none is given.
    pub id: Option<String>,
    /// The prompt of a new one.
    pub system: Option<String>,
    /// Whether a flag names the log it is in: whoever comes back must name it again.
    pub is_log_named: bool,
}

/// Makes a session, which keeps the policy it is begun with.
pub fn create(log: &Log, id: Option<&str>, policy: &str) -> Result<Session> {
    let made = id.map_or_else(Session::with_new_id, Session::new);
    Ok(log.create(Session { policy: Some(policy.to_owned()), ..made })?)
}

/// Gives a session without a prompt the one that a flag names. Any other keeps what it has, and whoever names something else for it
/// is told so.
pub fn prompt(equipment: &mut AgentConfig, known: Option<&Session>, system: Option<&String>, role: Option<&String>) {
    let has_prompt = known.is_some_and(|session| session.tip.position() > 0);
    match system {
        Some(_) if has_prompt => equipment.notices.push(
            say(
                "--system is for new sessions; this one keeps the prompt it has",
                "--system 只用于新会话；此会话保留原有的提示",
            )
            .to_owned(),
        ),
        Some(system) => equipment.prompt = Some(system.clone()),
        None => {}
    }
    let told = known.zip(role).and_then(|(session, role)| other_role(session, role));
    equipment.notices.extend(told);
}

/// A word for somebody who names a role for a session that was begun in another, or without one.
fn other_role(session: &Session, role: &str) -> Option<String> {
    match role::of(&session.state) {
        Some(own) if own == role => None,
        Some(own) => Some(say(
            format!("this session stays in the role {own} and keeps the prompt it has; {role} needs a new one"),
            format!("此会话仍为角色 {own}，保留原有的提示；{role} 需要新会话"),
        )),
        None if session.tip.position() == 0 => None,
        None => Some(say(
            format!("this session takes the role {role} from now on; it keeps the prompt it has"),
            format!("此会话此后为角色 {role}；保留原有的提示"),
        )),
    }
}

/// A word for somebody who goes on with a session that another model was asked in.
pub fn other_model(session: &Session, model: &str) -> Option<String> {
    let before = session.model.as_deref().filter(|before| *before != model && session.tip.position() > 0)?;
    Some(say(
        format!("this session was held with {before}; from now on {model} is asked"),
        format!("此会话之前使用 {before}；此后使用 {model}"),
    ))
}

/// What a new session, or one that is gone on with, keeps of flags: policy, model, role.
pub fn keep(
    log: &Log,
    session: &mut Session,
    policy: Option<&String>,
    role: Option<&String>,
    model: &str,
) -> Result<()> {
    // Read anew: another process may have gone on with it while this one was made ready.
    *session = log.session(&session.id)?;
    let before = session.clone();
    if policy.is_some() {
        session.policy = policy.cloned();
    }
    if let Some(role) = role {
        role::put(&mut session.state, role);
    }
    session.model = Some(model.to_owned());
    if before != *session {
        log.save(session)?;
    }
    Ok(())
}
