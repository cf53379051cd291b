//! Opening sessions in a conversation, each as at the start of the program. It needs no server,
//! unless another model is preferred: resolved models are kept.

use anyhow::Result;
use waterline_agent::{AgentBuilder, Start, WorkingDirectory};
use waterline_config::{Assembly, Overrides};
use waterline_log::{Log, Session};

use super::{Chat, empty_session};
use crate::open_session::{Worked, remembered_model, worked_in};
use crate::show::kept;

impl Chat {
    /// Opens another session, with the preferences that apply to it.
    pub(crate) async fn open(&mut self, id: &str) -> Result<()> {
        let mut assembly = self.assembly_for(Start::Resume(id.to_owned())).await?;
        assembly.overrides.directory = self.directory_of(id).await?;
        // The role that a flag names is for the session of that flag.
        let builder = assembly.builder()?.role(None);
        self.enter(assembly, builder).await.map(drop)
    }

    /// Returns where a session works: where it worked last, else where new sessions work.
    async fn directory_of(&self, id: &str) -> Result<Option<WorkingDirectory>> {
        let id = id.to_owned();
        let session = self.on_log(move |log, _| log.session(&id)).await?;
        let overrides = &self.assembly.overrides;
        Ok(match worked_in(&session, &self.assembly.config, overrides) {
            Worked::In(directory) => directory,
            Worked::Gone(_) | Worked::Unknown => self.directory.clone(),
        })
    }

    /// Creates or forks a session and opens it. A new session gets the policy of the current one.
    pub(crate) async fn open_new(&mut self, start: Start) -> Result<Session> {
        // A fork has the messages of its original; of an empty one it has none.
        let is_empty = start == Start::New || self.empty_session.id().is_some();
        let is_fork = start != Start::New;
        let mut assembly = self.assembly_for(start).await?;
        if !is_fork {
            assembly.overrides.directory.clone_from(&self.directory);
        }
        let policy = self.session().policy.clone();
        let builder = assembly.builder()?.configure(|config| {
            config.policies.config = policy.or(config.policies.config.take());
        });
        let session = self.enter(assembly, builder).await?;
        self.empty_session.set(is_empty.then(|| session.id.clone()));
        Ok(session)
    }

    /// Opens the current session again, from the log and with the current settings.
    pub(crate) async fn reopen(&mut self) -> Result<()> {
        let start = Start::Resume(self.session().id.clone());
        let assembly = self.assembly.clone();
        let builder = assembly.builder()?.role(None).start(start);
        self.enter(assembly, builder).await.map(drop)
    }

    /// Grants something for the current session and opens it again. If that fails, nothing changes.
    pub(crate) async fn grant(&mut self, add: impl FnOnce(&mut Overrides)) -> Result<()> {
        let before = self.assembly.overrides.clone();
        add(&mut self.assembly.overrides);
        let opened = self.reopen().await;
        if opened.is_err() {
            self.assembly.overrides = before;
        }
        opened
    }

    /// Returns the assembly for another session. What was granted in this one is not for it.
    async fn assembly_for(&self, start: Start) -> Result<Assembly> {
        let is_same = start == Start::Resume(self.session().id.clone());
        let mut assembly = self.assembly.for_start(start).await?;
        if !is_same {
            let (dirs, hosts) = &self.first_access;
            assembly.overrides.allow_dirs.clone_from(dirs);
            assembly.overrides.allow_hosts.clone_from(hosts);
        }
        Ok(assembly)
    }

    /// Opens the session of a builder. If that fails, the chat stays where it is.
    async fn enter(&mut self, assembly: Assembly, builder: AgentBuilder) -> Result<Session> {
        let prepared = builder.prepare().await?;
        let session = prepared.session.clone();
        let is_new = prepared.is_new;
        let is_other = self.session().id != session.id;
        let notices = prepared.notices.clone();
        match prepared.runner(self.screen.clone()).await {
            Ok(runner) => self.runner = runner,
            Err(error) => {
                if is_new {
                    let root = self.runner.agent.config().workspaces.clone();
                    let id = session.id.clone();
                    self.on_log(move |log, _| empty_session::remove(log, &id, root)).await?;
                }
                return Err(error.into());
            }
        }
        let is_same_server = assembly.overrides.model == self.assembly.overrides.model;
        self.assembly = assembly;
        if is_other {
            self.announce();
            let server = remembered_model(&self.assembly).filter(|_| !is_same_server);
            server.iter().for_each(|note| self.screen.print_note(note));
            self.read_earlier_calls().await?;
            notices.iter().for_each(|choice| self.screen.print_note(&kept(choice)));
            let left = self.empty_session.clone();
            let remove = move |_: &Log, _: &str| {
                left.remove();
                Ok(())
            };
            self.on_log(remove).await?;
        }
        Ok(session)
    }
}
