//! Opens an agent: its session with workspace, policy and tools. A new session gets its system
//! prompt.

use std::collections::BTreeMap;
use std::sync::Arc;

use waterline::message::Message;
use waterline_log::{Log, LogError, Session};
use waterline_memory::Memory;
use waterline_provider::wire::Tool;
use waterline_sandbox::Workspace;
use waterline_session::{LiveSession, Recall, SessionConfig, SessionError};

use super::sub_agents::Shared;
use super::{Agent, prompt, session_workspace};
use crate::approver::Approver;
use crate::changes::Recorder;
use crate::config::{self, AgentConfig};
use crate::environment;
use crate::error::AgentError;
use crate::event::Event;
use crate::instructions::{self, Instructions};
use crate::middleware::Chain;
use crate::notice::Notice;
use crate::observer::{Frontend, Observer, Observers};
use crate::skill;
use crate::state::{Local, State};

impl Agent {
    /// Opens a session. A new session gets its workspace, its tools and its system prompt.
    ///
    /// # Errors
    /// When the session does not exist, or its workspace cannot be used.
    pub async fn open(
        log: Log,
        session: &str,
        mut config: AgentConfig,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self, AgentError> {
        config.apply_settings()?;
        let recorder = Recorder::new(log.clone(), session, config.workspaces.clone());
        let shared = Arc::new(Shared::new(config.clone(), recorder));
        let mut observers: Vec<Arc<dyn Observer>> =
            vec![Arc::clone(&frontend) as Arc<dyn Observer>];
        observers.extend(config.observers.iter().cloned());
        let sides = (Observers::new(observers), frontend as Arc<dyn Approver>);
        let open = || {
            let sides = (sides.0.clone(), Arc::clone(&sides.1));
            Self::open_at(log.clone(), session, config.clone(), sides, Arc::clone(&shared), 0)
        };
        match open().await {
            // Another process opened the session at the same time and has already continued it.
            Err(AgentError::Session(SessionError::Log(LogError::Conflict { .. }))) => open().await,
            opened => opened,
        }
    }

    /// Opens a session `depth` agents below the first one.
    pub(super) async fn open_at(
        log: Log,
        session: &str,
        config: AgentConfig,
        (observers, approver): (Observers, Arc<dyn Approver>),
        shared: Arc<Shared>,
        depth: usize,
    ) -> Result<Self, AgentError> {
        let id = session.to_owned();
        let known = log.handle().run(move |log| log.session(&id)).await?;
        let workspace = Arc::new(open_workspace(&known, &config).await?);
        let mut session_config = session_config(&known, &config, &observers)?;
        let stored_tools = match &known.tools {
            Some(hash) => Some(stored_tools(&log, &known, hash.clone()).await?),
            None => None,
        };
        let has_stored_tools = stored_tools.is_some();
        session_config.tools = stored_tools.unwrap_or_else(|| config.toolbox.definitions());
        let mut live = LiveSession::open(log, session, session_config).await?;
        let encoders = config.session.encoders.clone();
        let recall = Arc::new(Recall::new(environment::without_notes).with_encoders(encoders));
        live.search_with(Arc::clone(&recall));
        live.work_under(shared.fence());
        let chain = Chain::new(config.middleware.clone());
        let config = Arc::new(config);
        let mut agent = Self {
            live,
            config,
            workspace,
            shared,
            observers,
            approver,
            chain,
            recall,
            depth,
            hook_failures: 0,
            is_search_prepared: false,
            read_only: BTreeMap::new(),
        };
        agent.store_start(has_stored_tools).await?;
        agent.encoding()();
        Ok(agent)
    }

    /// Stores that the session is in use, with its workspace, its tools and its system prompt.
    async fn store_start(&mut self, has_stored_tools: bool) -> Result<(), AgentError> {
        // State that does not parse is an error before anything is changed.
        let pending = self.state()?.pending;
        self.shared.approve_directories(self.local_state()?.approvals);
        let is_stale = pending.is_some_and(|waiting| {
            !self.open_tool_calls().iter().any(|call| call.id == waiting.call_id())
        });
        if !has_stored_tools {
            let tools = serialize_tools(&self.live.session().id, &self.live.config().tools)?;
            self.live.add_tools(tools);
        }
        let path = self.workspace.path().display().to_string();
        // Written even if unchanged: opening a session marks it as used.
        let set_workspace = move |session: &mut Session| {
            session.workspace = Some(path.clone());
            Ok(())
        };
        self.live.add_change(Arc::new(set_workspace)).await?;
        let clear_stale = move |state: &mut State, _: &mut Local| {
            if is_stale {
                state.pending = None;
            }
        };
        self.change_state(clear_stale).await?;
        if self.live.session().tip.position() == 0 {
            self.add_system_prompt().await?;
        }
        self.commit().await
    }

    /// Adds the system prompt if the conversation is empty: when it is new, and at the first
    /// message after it was cleared. It is stored with the next write.
    pub(super) async fn add_system_prompt(&mut self) -> Result<(), AgentError> {
        if !self.live.history().is_empty() {
            return Ok(());
        }
        let skills = self.config.skills.clone();
        let workspace = Arc::clone(&self.workspace);
        drop(tokio::task::spawn_blocking(move || skill::unpack(&skills, &workspace)).await);
        let (files, notices) = self.read_instructions().await?;
        notices.into_iter().for_each(|notice| self.emit(&Event::Notice(notice)));
        self.report_truncated(&files);
        self.live.add_messages(vec![self.system_message(&files)]).await?;
        let hashes = instructions::hashes(&files);
        self.change_state(move |state, _| state.instructions.clone_from(&hashes)).await
    }

    /// Reports the instruction files that are too long.
    pub(super) fn report_truncated(&self, files: &[Instructions]) {
        let names = instructions::truncated(files, self.live.window());
        if !names.is_empty() {
            self.emit(&Event::Notice(Notice::InstructionsTruncated(names)));
        }
    }

    fn system_message(&self, files: &[Instructions]) -> Message {
        Message::system(prompt::system(&self.config, files, self.live.window()))
    }

    /// Returns the tokens of the system prompt, as the local counter counts. After a clear it is
    /// not in the history: the next message adds it.
    ///
    /// # Errors
    /// When the program is ending.
    pub async fn system_tokens(&self) -> Result<usize, AgentError> {
        let history = self.live.history();
        if !history.is_empty() {
            return Ok(history.system_tokens());
        }
        let (files, _) = self.read_instructions().await?;
        Ok(history.counter().message(&self.system_message(&files)))
    }

    /// Returns the tokens of the next prompt without its new message, unless it is folded.
    ///
    /// # Errors
    /// When the program is ending.
    pub async fn context_tokens(&self) -> Result<usize, AgentError> {
        let missing = match self.live.history().is_empty() {
            true => self.live.corrected(self.system_tokens().await?),
            false => 0,
        };
        Ok(self.live.context_tokens() + missing)
    }

    /// Reads the instruction files of the user and of the project.
    ///
    /// # Errors
    /// When the program is ending.
    pub async fn read_instructions(&self) -> Result<(Vec<Instructions>, Vec<Notice>), AgentError> {
        let files = self.config.instructions.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        Ok(read.map_err(|_| SessionError::Ending)?)
    }
}

/// Returns the configuration of a session: with the memory of its user and with its policies.
fn session_config(
    session: &Session,
    config: &AgentConfig,
    observers: &Observers,
) -> Result<SessionConfig, AgentError> {
    let mut session_config = config.session.clone();
    let of_owner = |memory: Arc<Memory>| Arc::new(memory.of_owner(session.user.as_deref()));
    session_config.memory = session_config.memory.map(of_owner);
    let mut policies = config.policies.clone();
    if let Some(buffer) = &State::of(session)?.buffer_config {
        match config.summarization_set {
            true => observers.emit(&Event::Notice(Notice::BufferConfigIgnored)),
            false => policies.made = Some(config::policy_of_buffer(buffer)?),
        }
    }
    policies.apply(&mut session_config, session)?;
    Ok(session_config)
}

/// Opens the workspace of a session. This may block: a fork copies the files of the session it was
/// forked from.
async fn open_workspace(session: &Session, config: &AgentConfig) -> Result<Workspace, AgentError> {
    let session = session.clone();
    let config = config.clone();
    let opened =
        tokio::task::spawn_blocking(move || session_workspace::open(&session, &config)).await;
    opened.map_err(|_| SessionError::Ending)?
}

/// Returns the tool definitions that were stored when the session started.
async fn stored_tools(log: &Log, session: &Session, hash: String) -> Result<Vec<Tool>, AgentError> {
    let stored = log.handle().run(move |log| log.tools(&hash)).await?;
    serde_json::from_slice(&stored).map_err(|error| unreadable(&session.id, &error))
}

fn serialize_tools(session: &str, tools: &[Tool]) -> Result<Vec<u8>, AgentError> {
    serde_json::to_vec(tools).map_err(|error| unreadable(session, &error))
}

fn unreadable(session: &str, error: &serde_json::Error) -> AgentError {
    AgentError::State { session: session.to_owned(), field: "tools", why: error.to_string() }
}
