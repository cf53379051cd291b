//! Follows hand-offs: when the agent of one role hands its work over, the session of the other role
//! continues the turn.

use std::sync::Arc;

use serde_json::Value;
use waterline_log::Log;

use super::Agent;
use super::submit::UserInput;
use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::event::Event;
use crate::observer::Frontend;
use crate::outcome::{Ending, Outcome};
use crate::role::{self, Transfer};
use crate::state::State;

/// An agent, and the roles that may continue in its place. A host that offers roles runs turns
/// through it.
pub struct HandoffRunner {
    /// The agent that works now.
    pub agent: Agent,
    log: Log,
    frontend: Arc<dyn Frontend>,
    /// What agents are made with, before any role.
    base: AgentConfig,
}

impl HandoffRunner {
    /// Opens a session with the role that it has.
    ///
    /// # Errors
    /// When there is no such session or role, or its workspace cannot be used.
    pub async fn open(
        log: Log,
        session: &str,
        base: AgentConfig,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self, AgentError> {
        let id = session.to_owned();
        let known = log.handle().run(move |log| log.session(&id)).await?;
        let own = match State::of(&known)?.role {
            Some(role) => base.of_role(role::named(&base.roles, &role)?)?,
            None => base.clone(),
        };
        let agent = Agent::open(log.clone(), session, own, Arc::clone(&frontend)).await?;
        Ok(Self { agent, log, frontend, base })
    }

    /// Runs a turn on an input, or resumes an interrupted one where there is none. It ends when no
    /// role hands the work on.
    ///
    /// # Errors
    /// As for [`Agent::turn`] and [`Agent::resume`].
    pub async fn turn(&mut self, input: Option<UserInput>) -> Result<Outcome, AgentError> {
        let mut outcome = match input {
            Some(input) => self.agent.turn(input).await?,
            None => self.agent.resume().await?,
        };
        while let Ending::HandOff { to, package } = &outcome.ending {
            let text = self.hand_over(to, package).await?;
            outcome = self.agent.turn(UserInput { handed: true, ..UserInput::new(text) }).await?;
        }
        Ok(outcome)
    }

    /// Replaces the agent by that of another role; returns what the other role is told.
    async fn hand_over(&mut self, to: &str, package: &Value) -> Result<String, AgentError> {
        let (from, role, given) =
            (self.agent.live().session().clone(), to.to_owned(), package.clone());
        // What a session carries may not parse, which is not an error of the log.
        let made =
            self.log.handle().run(move |log| Ok(role::transfer(log, &from, &role, &given))).await?;
        let Transfer { session, text } = made?;
        let own = self.base.of_role(role::named(&self.base.roles, to)?)?;
        self.agent.emit(&Event::HandedOff { to: to.to_owned(), session: session.id.clone() });
        self.agent =
            Agent::open(self.log.clone(), &session.id, own, Arc::clone(&self.frontend)).await?;
        Ok(text)
    }
}
