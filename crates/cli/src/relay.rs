//! Work that goes from role to role: when one hands over, the other's session goes on.

use std::sync::Arc;

use anyhow::Result;
use waterline_agent::role::{self, Transfer};
use waterline_agent::{Agent, AgentConfig, Ending, Outcome, Person, Said, State};
use waterline_log::Log;

use crate::lang::say;

/// An agent, and who may go on in its place.
pub struct Relay {
    /// The agent that works now.
    pub agent: Agent,
    log: Log,
    person: Arc<dyn Person>,
    /// What agents are made with, before any role.
    base: AgentConfig,
}

impl Relay {
    /// Takes up a session.
    pub async fn open(log: Log, session: &str, base: AgentConfig, person: Arc<dyn Person>) -> Result<Self> {
        let (reader, id) = (log.clone(), session.to_owned());
        let known = tokio::task::spawn_blocking(move || reader.session(&id)).await??;
        let own = match State::of(&known)?.role {
            Some(role) => base.of_role(role::named(&base.roles, &role)?)?,
            None => base.clone(),
        };
        let agent = Agent::open(log.clone(), session, own, Arc::clone(&person)).await?;
        Ok(Self { agent, log, person, base })
    }

    /// A turn: what is said, or what was broken off where nothing is. Ends when nobody hands the work on.
    pub async fn turn(&mut self, said: Option<Said>) -> Result<Outcome> {
        let mut outcome = match said {
            Some(said) => self.agent.turn(said).await?,
            None => self.agent.go_on().await?,
        };
        while let Ending::HandOff { to, package } = &outcome.ending {
            let text = self.hand_over(to, package).await?;
            outcome = self.agent.turn(Said { handed: true, ..Said::new(text) }).await?;
        }
        Ok(outcome)
    }

    /// Puts the session of another role in the place of this one; gives what is said to it.
    async fn hand_over(&mut self, to: &str, package: &serde_json::Value) -> Result<String> {
        let (log, from) = (self.log.clone(), self.agent.live().session().clone());
        let (role, given) = (to.to_owned(), package.clone());
        let made = tokio::task::spawn_blocking(move || role::transfer(&log, &from, &role, &given)).await?;
        let Transfer { session, text } = made?;
        let own = self.base.of_role(role::named(&self.base.roles, to)?)?;
        let en = format!("{to} goes on, in session {}", session.id);
        let zh = format!("由 {to} 继续，会话 {}", session.id);
        self.person.hear(&waterline_agent::Event::Notice(say(en, zh)));
        self.agent = Agent::open(self.log.clone(), &session.id, own, Arc::clone(&self.person)).await?;
        Ok(text)
    }
}
