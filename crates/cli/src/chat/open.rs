//! Opening other sessions in a conversation. It needs no server.

use anyhow::Result;
use waterline_agent::{AgentBuilder, HandoffRunner, Start};
use waterline_log::Session;

use super::{Chat, empty_session};

impl Chat {
    /// Opens another session, or this one with other settings. It needs no server: the models stay
    /// as they were resolved.
    pub(crate) async fn open(&mut self, id: &str) -> Result<()> {
        let config = self.assembly.agent_config()?;
        let is_other = self.session().id != id;
        self.runner =
            HandoffRunner::open(self.log.clone(), id, config, self.screen.clone()).await?;
        if is_other {
            self.screen.forget_calls();
            let left = self.empty_session.clone();
            tokio::task::spawn_blocking(move || left.remove()).await?;
        }
        Ok(())
    }

    /// Creates or forks a session and opens it. A new session gets the policy of the current one.
    pub(crate) async fn open_new(&mut self, start: Start) -> Result<Session> {
        let mut config = self.assembly.agent_config()?;
        config.policies.config = self.session().policy.clone().or(config.policies.config);
        config.session.model = self.runner.agent.live().model().clone();
        let builder =
            AgentBuilder::new(self.log.clone(), config).role(self.assembly.overrides.role.clone());
        let user = self.session().user.clone();
        // A fork has the messages of its original; of an empty one it has none.
        let is_empty = start == Start::New || self.empty_session.id().is_some();
        let session = builder.user(user).start(start).prepare().await?.session;
        let id = session.id.clone();
        if let Err(error) = self.open(&id).await {
            let root = self.runner.agent.config().workspaces.clone();
            self.on_log(move |log, _| empty_session::remove(log, &id, root)).await?;
            return Err(error);
        }
        self.empty_session.set(is_empty.then_some(id));
        Ok(session)
    }

    /// Opens the current session again, from the log.
    pub(crate) async fn reopen(&mut self) -> Result<()> {
        let id = self.runner.agent.live().session().id.clone();
        self.open(&id).await
    }
}
