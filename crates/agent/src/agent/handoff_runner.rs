//! Follows hand-offs: when an agent hands its work to another role, the session of that role
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

/// Runs turns of an agent and of the roles it hands work to. Programs that offer roles run their
/// turns through it.
pub struct HandoffRunner {
    /// The agent of the current role.
    pub agent: Agent,
    log: Log,
    frontend: Arc<dyn Frontend>,
    /// The configuration before any role is applied.
    base: AgentConfig,
}

impl HandoffRunner {
    /// Opens a session with its stored role.
    ///
    /// # Errors
    /// When the session or its role does not exist, or the workspace cannot be used.
    pub(crate) async fn open(
        log: Log,
        session: &str,
        base: AgentConfig,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self, AgentError> {
        let id = session.to_owned();
        let known = log.handle().run(move |log| log.session(&id)).await?;
        let config = match State::of(&known)?.role {
            Some(role) => base.of_role(role::named(&base.roles, &role)?)?,
            None => base.clone(),
        };
        let agent = Agent::open(log.clone(), session, config, Arc::clone(&frontend)).await?;
        Ok(Self { agent, log, frontend, base })
    }

    /// Runs a turn on an input, or resumes the interrupted turn if there is none. Hand-offs are
    /// followed until a role ends the turn without one.
    ///
    /// # Errors
    /// As for [`Agent::turn`] and [`Agent::resume`].
    pub async fn turn(&mut self, input: Option<UserInput>) -> Result<Outcome, AgentError> {
        let mut outcome = match input {
            Some(input) => self.agent.turn(input).await?,
            None => self.agent.resume().await?,
        };
        while let Ending::HandOff { to, package } = &outcome.ending {
            let text = self.switch_role(to, package).await?;
            outcome = self.agent.turn(UserInput { handed: true, ..UserInput::new(text) }).await?;
        }
        Ok(outcome)
    }

    /// Replaces the agent with the agent of another role. Returns the message for that role.
    async fn switch_role(&mut self, to: &str, package: &Value) -> Result<String, AgentError> {
        let from = self.agent.live().session().clone();
        let role = to.to_owned();
        let package = package.clone();
        // The inner result is an error of the agent (state that does not parse), not of the log.
        let transferred = self
            .log
            .handle()
            .run(move |log| Ok(role::transfer(log, &from, &role, &package)))
            .await?;
        let Transfer { session, text } = transferred?;
        let config = self.base.of_role(role::named(&self.base.roles, to)?)?;
        self.agent.emit(&Event::HandedOff { to: to.to_owned(), session: session.id.clone() });
        self.agent =
            Agent::open(self.log.clone(), &session.id, config, Arc::clone(&self.frontend)).await?;
        Ok(text)
    }
}
