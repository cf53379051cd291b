//! An agent: a session, its workspace, its tools, and who watches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use waterline::message::{Message, Role, ToolCall};
use waterline_log::{Log, Session};
use waterline_provider::answer::Answer;
use waterline_provider::wire::Tool;
use waterline_sandbox::Workspace;
use waterline_session::Live;

use crate::callback;
use crate::config::AgentConfig;
use crate::crew::Crew;
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::{Chain, Finished, Hook, Instead, Moment, Verdict, of_buffer};
use crate::offline::Offline;
use crate::person::{Person, Word};
use crate::prompt;
use crate::run::Run;
use crate::session_workspace;
use crate::skill;
use crate::state::{self, Local, State};
use crate::tool::{CALL_TOOL, Scene, Tiers};

/// An agent.
pub struct Agent {
    pub(crate) live: Live,
    pub(crate) config: Arc<AgentConfig>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) crew: Arc<Crew>,
    pub(crate) person: Arc<dyn Person>,
    chain: Chain,
    /// How many agents stand above this one.
    pub(crate) depth: usize,
    hook_failures: usize,
}

/// What hooks may look at beside state and tally; each hook sets what it is about.
#[derive(Default)]
pub(crate) struct View<'a> {
    pub(crate) said: String,
    pub(crate) attached: Vec<String>,
    pub(crate) asides: Vec<String>,
    pub(crate) answer: Option<&'a Answer>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) instead: BTreeMap<String, Instead>,
    pub(crate) words: BTreeMap<String, Word>,
    pub(crate) finished: Vec<Finished>,
}

impl Agent {
    /// Takes up a session. One that has said nothing yet is given its workspace, its tools and its prompt.
    ///
    /// # Errors
    /// When there is no such session, or its workspace cannot be used.
    pub async fn open(
        log: Log,
        session: &str,
        config: AgentConfig,
        person: Arc<dyn Person>,
    ) -> Result<Self, AgentError> {
        let crew = Arc::new(Crew::new(config.clone()));
        Self::of_crew(log, session, config, person, crew, 0).await
    }

    pub(crate) async fn of_crew(
        log: Log,
        session: &str,
        config: AgentConfig,
        person: Arc<dyn Person>,
        crew: Arc<Crew>,
        depth: usize,
    ) -> Result<Self, AgentError> {
        let id = session.to_owned();
        let known = log.handle().run(move |log| log.session(&id)).await?;
        let (session_of, gear) = (known.clone(), config.clone());
        // A fork copies the files of the session it came from.
        let opened = tokio::task::spawn_blocking(move || session_workspace::open(&session_of, &gear)).await;
        let workspace = Arc::new(opened.map_err(|_| waterline_session::SessionError::Ending)??);
        let (mut setup, mut policies) = (config.setup.clone(), config.policies.clone());
        if let Some(buffer) = &State::of(&known)?.buffer_config {
            if config.middleware.iter().any(|middleware| middleware.name() == "summarization") {
                person.hear(&Event::Notice(
                    "the session has a buffer_config; the middleware summarization holds".to_owned(),
                ));
            } else {
                policies.made = Some(of_buffer(buffer)?);
            }
        }
        policies.apply(&mut setup, &known)?;
        let stored = match &known.tools {
            Some(hash) => Some(stored_tools(&log, &known, hash.clone()).await?),
            None => None,
        };
        setup.tools = stored.clone().unwrap_or_else(|| config.toolbox.definitions());
        Offline::connect(&setup, &log);
        let live = Live::open(log, session, setup).await?;
        let chain = Chain::new(config.middleware.clone());
        let config = Arc::new(config);
        let mut agent = Self { live, config, workspace, crew, person, chain, depth, hook_failures: 0 };
        // What does not parse is told before anything is done.
        let waits = agent.state()?.pending;
        agent.local()?;
        let is_stale = waits.is_some_and(|waiting| !agent.open_calls().iter().any(|call| call.id == waiting.call_id()));
        if stored.is_none() {
            let tools = definitions(session, &agent.live.setup().tools)?;
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

    /// The conversation begins with the system prompt: a new one, and one that was cleared when something is said in it again. It
    /// is stored with the next write.
    pub(crate) async fn begin(&mut self) -> Result<(), AgentError> {
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
    pub const fn live(&self) -> &Live {
        &self.live
    }

    /// The session it works in, to be changed.
    pub const fn live_mut(&mut self) -> &mut Live {
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
        Ok(self.config.toolbox.tiers(&self.local()?, &self.live.setup().tools))
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
    pub(crate) async fn stage(
        &mut self,
        change: impl Fn(&mut State, &mut Local) + Send + Sync + 'static,
    ) -> Result<(), AgentError> {
        self.live.stage_change(state::change(change)).await?;
        let kept = self.state()?.kept();
        self.live.keep(kept);
        Ok(())
    }

    /// Stores what was staged, in one transaction.
    pub(crate) async fn commit(&mut self) -> Result<(), AgentError> {
        Ok(self.live.commit().await?)
    }

    pub(crate) fn hear(&self, event: &Event) {
        self.person.hear(event);
        self.config.callbacks.iter().for_each(|callback| callback::tell(&**callback, event));
    }

    pub(crate) fn scene(&self, call_id: &str) -> Result<Scene, AgentError> {
        Ok(Scene {
            state: self.state()?,
            local: self.local()?,
            call_id: call_id.to_owned(),
            log: self.live.log().clone(),
            session: self.live.session().clone(),
            workspace: Arc::clone(&self.workspace),
            crew: Arc::clone(&self.crew),
            person: Arc::clone(&self.person),
            depth: self.depth,
            turn: self.live.history().latest_user().map_or(0, |at| self.live.cleared() + at as u64 + 1),
            result_chars: self.result_chars(),
        })
    }

    /// The messages of the running turn, newest first, as far as they are in memory.
    fn newest(&self) -> impl Iterator<Item = (&Message, &Message)> {
        let history = self.live.history();
        (0..history.len()).rev().map_while(|at| Some((history.message(at)?, history.source(at)?)))
    }

    /// The calls without a result, in their order. A call of `call_tool` is the call that it means.
    pub(crate) fn open_calls(&self) -> Vec<ToolCall> {
        let mut answered: Vec<&str> = Vec::new();
        let mut open: Vec<ToolCall> = Vec::new();
        for (message, source) in self.newest() {
            if message.role == Role::User && message.results().next().is_none() || message.role == Role::System {
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
            open.splice(0..0, calls.into_iter().filter(|call| !answered.contains(&call.id.as_str())));
        }
        open.into_iter().map(meant).collect()
    }

    /// Whether the model has something to answer.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.newest().next().is_some_and(|(message, _)| match message.role {
            Role::User | Role::Tool => true,
            Role::Assistant | Role::System => false,
        })
    }

    /// Asks the hooks of one kind. What they change of the state is stored with the next write, what fails is shown and counted.
    pub(crate) async fn ask_about(
        &mut self,
        hook: Hook,
        run: &Run,
        view: &mut View<'_>,
    ) -> Result<Verdict, AgentError> {
        let mut state = self.state()?;
        let mut moment = Moment {
            state: &mut state,
            tally: run.tally(self.crew.iterations.load(Ordering::Relaxed)),
            said: &mut view.said,
            attached: &mut view.attached,
            asides: &mut view.asides,
            answer: view.answer,
            calls: &view.calls,
            instead: &mut view.instead,
            words: &view.words,
            finished: &mut view.finished,
            toolbox: &self.config.toolbox,
        };
        let asked = self.chain.ask(hook, &mut moment);
        self.hook_failures += asked.failed.len();
        asked.failed.iter().for_each(|event| self.hear(event));
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
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&call.arguments) else { return call };
    let Some(name) = fields.get("name").and_then(Value::as_str) else { return call };
    let arguments = fields.get("arguments").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
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
