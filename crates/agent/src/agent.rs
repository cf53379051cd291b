//! An agent: a session, its workspace, its tools, its observers and its approver. The submodules
//! are the steps of its turn; `turn` has the loop.

mod ask_people;
mod call_model;
mod handoff_runner;
mod interrupted;
mod lease;
mod prompt;
mod run_calls;
mod session_workspace;
mod sub_agents;
mod submit;
mod turn;
mod turn_state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use waterline::message::{Message, Role, ToolCall};
use waterline_log::{Log, Session};
use waterline_provider::answer::Answer;
use waterline_provider::wire::Tool;
use waterline_sandbox::Workspace;
use waterline_session::LiveSession;

pub use handoff_runner::HandoffRunner;
pub use submit::UserInput;

use self::sub_agents::{Shared, SubAgents};
use self::turn_state::TurnState;
use crate::approver::{ApprovalReply, Approver};
use crate::config::{self, AgentConfig};
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::{Chain, Finished, Hook, HookContext, SyntheticResult, Verdict};
use crate::observer::{Frontend, Observer, Observers};
use crate::offline::Offline;
use crate::schema::{self, AnswerSchema};
use crate::skill;
use crate::state::{self, Local, State};
use crate::tool::{CALL_TOOL, Tiers, ToolContext};

/// An agent.
pub struct Agent {
    live: LiveSession,
    config: Arc<AgentConfig>,
    workspace: Arc<Workspace>,
    shared: Arc<Shared>,
    observers: Observers,
    approver: Arc<dyn Approver>,
    chain: Chain,
    /// How many agents are above this one.
    depth: usize,
    hook_failures: usize,
}

/// What hooks may look at in addition to state and counters; each hook sets what it is about.
#[derive(Default)]
struct View<'a> {
    said: String,
    attached: Vec<String>,
    asides: Vec<String>,
    answer: Option<&'a Answer>,
    calls: Vec<ToolCall>,
    instead: BTreeMap<String, SyntheticResult>,
    replies: BTreeMap<String, ApprovalReply>,
    finished: Vec<Finished>,
}

impl Agent {
    /// Opens a session. A new one is given its workspace, its tools and its prompt.
    ///
    /// # Errors
    /// When there is no such session, or its workspace cannot be used.
    pub async fn open(
        log: Log,
        session: &str,
        config: AgentConfig,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self, AgentError> {
        let shared = Arc::new(Shared::new(config.clone()));
        let mut observers: Vec<Arc<dyn Observer>> =
            vec![Arc::clone(&frontend) as Arc<dyn Observer>];
        observers.extend(config.observers.iter().cloned());
        let people = (Observers::new(observers), frontend as Arc<dyn Approver>);
        Self::open_at(log, session, config, people, shared, 0).await
    }

    /// Opens a session `depth` agents below the first one.
    async fn open_at(
        log: Log,
        session: &str,
        config: AgentConfig,
        (observers, approver): (Observers, Arc<dyn Approver>),
        shared: Arc<Shared>,
        depth: usize,
    ) -> Result<Self, AgentError> {
        let id = session.to_owned();
        let known = log.handle().run(move |log| log.session(&id)).await?;
        let (session_of, gear) = (known.clone(), config.clone());
        // A fork copies the files of the session it came from.
        let opened =
            tokio::task::spawn_blocking(move || session_workspace::open(&session_of, &gear)).await;
        let workspace = Arc::new(opened.map_err(|_| waterline_session::SessionError::Ending)??);
        let (mut setup, mut policies) = (config.session.clone(), config.policies.clone());
        if let Some(buffer) = &State::of(&known)?.buffer_config {
            match config.summarization_set {
                true => observers.emit(&Event::Notice(
                    "the session has a buffer_config; the setting summarization overrides it"
                        .to_owned(),
                )),
                false => policies.made = Some(config::policy_of_buffer(buffer)?),
            }
        }
        policies.apply(&mut setup, &known)?;
        let stored = match &known.tools {
            Some(hash) => Some(stored_tools(&log, &known, hash.clone()).await?),
            None => None,
        };
        setup.tools = stored.clone().unwrap_or_else(|| config.toolbox.definitions());
        Offline::connect(&setup, &log);
        let live = LiveSession::open(log, session, setup).await?;
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
            depth,
            hook_failures: 0,
        };
        // What does not parse is told before anything is done.
        let waits = agent.state()?.pending;
        agent.local()?;
        let is_stale = waits.is_some_and(|waiting| {
            !agent.open_calls().iter().any(|call| call.id == waiting.call_id())
        });
        if stored.is_none() {
            let tools = definitions(session, &agent.live.config().tools)?;
            agent.live.stage_tools(tools);
        }
        let path = agent.workspace.path().display().to_string();
        // Stored in any case: whoever is taken up is in use.
        let works_in = move |session: &mut Session| {
            session.workspace = Some(path.clone());
            Ok(())
        };
        agent.live.stage_change(Arc::new(works_in)).await?;
        let settle = move |state: &mut State, _: &mut Local| {
            if is_stale {
                state.pending = None;
            }
        };
        agent.stage(settle).await?;
        if agent.live.session().tip.position() == 0 {
            agent.begin().await?;
        }
        agent.commit().await?;
        Ok(agent)
    }

    /// The conversation begins with the system prompt: a new one, and one that was cleared when
    /// something is said in it again. It is stored with the next write.
    async fn begin(&mut self) -> Result<(), AgentError> {
        if !self.live.history().is_empty() {
            return Ok(());
        }
        let (skills, workspace) = (self.config.skills.clone(), Arc::clone(&self.workspace));
        // Files are copied.
        drop(tokio::task::spawn_blocking(move || skill::unpack(&skills, &workspace)).await);
        let prompt = prompt::system(&self.config, &self.workspace);
        Ok(self.live.stage(vec![Message::system(prompt)]).await?)
    }

    /// The session it works in.
    #[must_use]
    pub const fn live(&self) -> &LiveSession {
        &self.live
    }

    /// The session it works in, to be changed.
    pub const fn live_mut(&mut self) -> &mut LiveSession {
        &mut self.live
    }

    /// What it was made with.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Its folder.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Whether the model takes pictures.
    #[must_use]
    pub fn sees(&self) -> bool {
        self.live.model().about.images
    }

    /// Hooks that failed so far.
    #[must_use]
    pub const fn hook_failures(&self) -> usize {
        self.hook_failures
    }

    /// Whether a turn was interrupted, and can be resumed.
    ///
    /// # Errors
    /// When what the session carries cannot be read.
    pub fn is_open(&self) -> Result<bool, AgentError> {
        Ok(self.next()?.is_some())
    }

    /// What the agent keeps with its session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn state(&self) -> Result<State, AgentError> {
        State::of(self.live.session())
    }

    /// What this user and this machine know of the session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn local(&self) -> Result<Local, AgentError> {
        Local::of(self.live.session())
    }

    /// Every tool with how near it is to the model.
    ///
    /// # Errors
    /// When what the session carries cannot be read.
    pub fn tiers(&self) -> Result<Tiers<'_>, AgentError> {
        Ok(self.config.toolbox.tiers(&self.local()?, &self.live.config().tools))
    }

    /// Changes what is kept with the session, in the log and here.
    ///
    /// # Errors
    /// When the log cannot be written, or another process went on with the conversation.
    pub async fn change(
        &mut self,
        change: impl Fn(&mut State, &mut Local) + Send + Sync + 'static,
    ) -> Result<(), AgentError> {
        self.stage(change).await?;
        self.commit().await
    }

    /// Keeps a message word for word, whatever is folded, by its place in the session.
    ///
    /// # Errors
    /// As for [`Agent::change`].
    pub async fn pin(&mut self, place: u64) -> Result<(), AgentError> {
        let pin = move |state: &mut State, _: &mut Local| {
            if !state.pins.contains(&place) {
                state.pins.push(place);
            }
        };
        self.change(pin).await
    }

    /// Changes what is kept with the session; it is stored with the next write.
    async fn stage(
        &mut self,
        change: impl Fn(&mut State, &mut Local) + Send + Sync + 'static,
    ) -> Result<(), AgentError> {
        self.live.stage_change(state::change(change)).await?;
        let kept = self.state()?.kept();
        self.live.keep(kept);
        Ok(())
    }

    /// Stores what was staged, in one transaction.
    async fn commit(&mut self) -> Result<(), AgentError> {
        Ok(self.live.commit().await?)
    }

    /// Tells every observer of an event.
    fn emit(&self, event: &Event) {
        self.observers.emit(event);
    }

    /// The schema that the answer of the running turn must fit.
    fn schema(&self) -> Result<Option<AnswerSchema>, AgentError> {
        self.state()?.schema.as_ref().map_or(Ok(None), schema::read)
    }

    fn tool_context(&self, call_id: &str) -> Result<ToolContext, AgentError> {
        let host = SubAgents {
            shared: Arc::clone(&self.shared),
            log: self.live.log().clone(),
            session: self.live.session().clone(),
            state: self.state()?,
            local: self.local()?,
            workspace: Arc::clone(&self.workspace),
            observers: self.observers.clone(),
            approver: Arc::clone(&self.approver),
            depth: self.depth,
        };
        Ok(ToolContext {
            state: host.state.clone(),
            local: host.local.clone(),
            call_id: call_id.to_owned(),
            log: self.live.log().clone(),
            session: self.live.session().clone(),
            workspace: Arc::clone(&self.workspace),
            host: Arc::new(host),
            turn: self
                .live
                .history()
                .latest_user()
                .map_or(0, |at| self.live.cleared() + at as u64 + 1),
            result_chars: self.result_chars(),
        })
    }

    /// The messages of the running turn, newest first, as far as they are in memory.
    fn newest(&self) -> impl Iterator<Item = (&Message, &Message)> {
        let history = self.live.history();
        (0..history.len()).rev().map_while(|at| Some((history.message(at)?, history.source(at)?)))
    }

    /// The calls without a result, in their order. A call of `call_tool` is the call that it means.
    fn open_calls(&self) -> Vec<ToolCall> {
        let mut answered: Vec<&str> = Vec::new();
        let mut open: Vec<ToolCall> = Vec::new();
        for (message, source) in self.newest() {
            if message.role == Role::User && message.results().next().is_none()
                || message.role == Role::System
            {
                break;
            }
            answered.extend(message.results().map(|result| result.call_id.as_str()));
            // Under the ids they are sent with, but with the arguments as the model wrote them.
            let written: Vec<&ToolCall> = source.calls().collect();
            let call = |(at, call): (usize, &ToolCall)| {
                let same = written.get(at).filter(|written| written.name == call.name);
                ToolCall { arguments: same.unwrap_or(&call).arguments.clone(), ..call.clone() }
            };
            let calls: Vec<ToolCall> = message.calls().enumerate().map(call).collect();
            open.splice(
                0..0,
                calls.into_iter().filter(|call| !answered.contains(&call.id.as_str())),
            );
        }
        open.into_iter().map(meant).collect()
    }

    /// Whether the model has something to answer.
    fn awaits_answer(&self) -> bool {
        self.newest().next().is_some_and(|(message, _)| match message.role {
            Role::User | Role::Tool => true,
            Role::Assistant | Role::System => false,
        })
    }

    /// Asks the hooks of one kind. What they change of the state is stored with the next write,
    /// what fails is shown and counted.
    async fn ask_about(
        &mut self,
        hook: Hook,
        turn: &TurnState,
        view: &mut View<'_>,
    ) -> Result<Verdict, AgentError> {
        let mut state = self.state()?;
        let mut context = HookContext {
            state: &mut state,
            counters: turn.counters(self.shared.iterations.load(Ordering::Relaxed)),
            said: &mut view.said,
            attached: &mut view.attached,
            asides: &mut view.asides,
            answer: view.answer,
            calls: &view.calls,
            instead: &mut view.instead,
            replies: &view.replies,
            finished: &mut view.finished,
            toolbox: &self.config.toolbox,
        };
        let asked = self.chain.ask(hook, &mut context);
        self.hook_failures += asked.failed.len();
        asked.failed.iter().for_each(|event| self.emit(event));
        if asked.changed {
            self.stage(move |stored, _| stored.clone_from(&state)).await?;
        }
        Ok(asked.verdict)
    }
}

/// The call that a call of `call_tool` means; any other is what it is.
fn meant(call: ToolCall) -> ToolCall {
    if call.name != CALL_TOOL {
        return call;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&call.arguments) else {
        return call;
    };
    let Some(name) = fields.get("name").and_then(Value::as_str) else { return call };
    let arguments =
        fields.get("arguments").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    // Some models write the arguments as a text.
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    ToolCall { id: call.id, name: name.to_owned(), arguments }
}

/// The tool definitions that a session was begun with.
async fn stored_tools(log: &Log, session: &Session, hash: String) -> Result<Vec<Tool>, AgentError> {
    let stored = log.handle().run(move |log| log.tools(&hash)).await?;
    serde_json::from_slice(&stored).map_err(|error| unreadable(&session.id, &error))
}

/// The tool definitions of a session as they are stored.
fn definitions(session: &str, tools: &[Tool]) -> Result<Vec<u8>, AgentError> {
    serde_json::to_vec(tools).map_err(|error| unreadable(session, &error))
}

fn unreadable(session: &str, error: &serde_json::Error) -> AgentError {
    AgentError::State { session: session.to_owned(), field: "tools", why: error.to_string() }
}
