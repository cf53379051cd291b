//! An agent: a session with its workspace, tools, observers and approver.
//!
//! The submodules are the parts of a turn; the loop is in `turn`.

mod ask_people;
mod call_model;
mod clock;
mod files;
mod handoff_runner;
mod interrupted;
mod open;
mod prompt;
mod results;
mod run_state;
mod run_tool_calls;
mod search_index;
mod session_workspace;
mod standing;
mod sub_agents;
mod submit;
mod turn;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use waterline::message::{Message, Role, ToolCall};
use waterline_provider::answer::Answer;
use waterline_sandbox::Workspace;
use waterline_session::{LiveSession, Recall};

pub use handoff_runner::HandoffRunner;
pub use submit::UserInput;

use self::run_state::RunState;
use self::sub_agents::{Shared, SubAgents};
use crate::approver::{ApprovalReply, Approver};
use crate::config::AgentConfig;
use crate::environment;
use crate::error::AgentError;
use crate::event::Event;
use crate::middleware::{Chain, Finished, Hook, HookContext, SyntheticResult, Verdict};
use crate::observer::Observers;
use crate::schema::{self, AnswerSchema};
use crate::state::{self, Local, State};
use crate::tool::{CALL_TOOL, Tiers, ToolContext};

/// An agent that works in one session.
pub struct Agent {
    live: LiveSession,
    config: Arc<AgentConfig>,
    workspace: Arc<Workspace>,
    shared: Arc<Shared>,
    observers: Observers,
    approver: Arc<dyn Approver>,
    chain: Chain,
    recall: Arc<Recall>,
    /// How many agents are above this one: 0 for the main agent.
    depth: usize,
    hook_failures: usize,
    /// Whether the indexes for search were built, or are being built.
    is_search_prepared: bool,
    /// Calls that may only read granted directories, by id.
    read_only: BTreeMap<String, Vec<PathBuf>>,
}

/// The data of one hook call. Each part of a turn fills in the fields that its hook needs; see
/// [`HookContext`].
#[derive(Default)]
struct HookData<'a> {
    input: String,
    attached: Vec<String>,
    ephemeral: Vec<String>,
    answer: Option<&'a Answer>,
    calls: Vec<ToolCall>,
    synthetic: BTreeMap<String, SyntheticResult>,
    replies: BTreeMap<String, ApprovalReply>,
    finished: Vec<Finished>,
}

impl Agent {
    /// Returns the live session.
    #[must_use]
    pub const fn live(&self) -> &LiveSession {
        &self.live
    }

    /// Returns the live session for changes.
    pub const fn live_mut(&mut self) -> &mut LiveSession {
        &mut self.live
    }

    /// Returns the configuration of the agent.
    #[must_use]
    pub fn config(&self) -> &AgentConfig {
        &self.config
    }

    /// Returns the directories that the agent works in: its private one and the granted ones.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns whether the model accepts images.
    #[must_use]
    pub fn sees(&self) -> bool {
        self.live.model().about.images
    }

    /// Returns the number of hook calls that failed so far.
    #[must_use]
    pub const fn hook_failures(&self) -> usize {
        self.hook_failures
    }

    /// Returns whether there is an interrupted turn that can be resumed.
    ///
    /// # Errors
    /// When the stored state does not parse.
    pub fn is_open(&self) -> Result<bool, AgentError> {
        Ok(self.next_action()?.is_some())
    }

    /// Returns the agent state stored with the session.
    ///
    /// # Errors
    /// When the stored state does not parse.
    pub fn state(&self) -> Result<State, AgentError> {
        State::of(self.live.session())
    }

    /// Returns the state that belongs to this user and this machine.
    ///
    /// # Errors
    /// When the stored state does not parse.
    pub fn local_state(&self) -> Result<Local, AgentError> {
        Local::of(self.live.session())
    }

    /// Returns every tool with its status in this session.
    ///
    /// # Errors
    /// When the stored state does not parse.
    pub fn tiers(&self) -> Result<Tiers<'_>, AgentError> {
        Ok(self.config.toolbox.tiers(&self.local_state()?, &self.live.config().tools))
    }

    /// Changes the stored state, in the log and in memory.
    ///
    /// # Errors
    /// When the log cannot be written, or another process continued the conversation.
    pub async fn change(
        &mut self,
        change: impl Fn(&mut State, &mut Local) + Send + Sync + 'static,
    ) -> Result<(), AgentError> {
        self.change_state(change).await?;
        self.commit().await
    }

    /// Pins the message at a position of the session: folds keep it verbatim.
    ///
    /// # Errors
    /// As for [`Agent::change`].
    pub async fn pin(&mut self, position: u64) -> Result<(), AgentError> {
        let pin = move |state: &mut State, _: &mut Local| {
            if !state.pins.contains(&position) {
                state.pins.push(position);
            }
        };
        self.change(pin).await
    }

    /// Changes the state in memory; it is stored with the next write.
    async fn change_state(
        &mut self,
        change: impl Fn(&mut State, &mut Local) + Send + Sync + 'static,
    ) -> Result<(), AgentError> {
        self.live.add_change(state::change(change)).await?;
        self.update_kept()
    }

    /// Sets what folds keep: the state's own lines, and where the agent works.
    fn update_kept(&mut self) -> Result<(), AgentError> {
        let mut kept = self.state()?.kept();
        if self.local_state()?.place.is_some() {
            kept.lines.extend(environment::describe(&self.workspace).lines().map(str::to_owned));
        }
        self.live.keep(kept);
        Ok(())
    }

    /// Stores everything unsaved, in one transaction.
    async fn commit(&mut self) -> Result<(), AgentError> {
        Ok(self.live.commit().await?)
    }

    fn emit(&self, event: &Event) {
        self.observers.emit(event);
    }

    /// Returns the search over the session's messages.
    #[must_use]
    pub fn recall(&self) -> Arc<Recall> {
        Arc::clone(&self.recall)
    }

    /// Returns the schema that the answer of the running turn must match.
    fn answer_schema(&self) -> Result<Option<AnswerSchema>, AgentError> {
        self.state()?.schema.as_ref().map_or(Ok(None), schema::read)
    }

    fn tool_context(&self, call_id: &str) -> Result<ToolContext, AgentError> {
        let host = SubAgents {
            shared: Arc::clone(&self.shared),
            log: self.live.log().clone(),
            session: self.live.session().clone(),
            state: self.state()?,
            local: self.local_state()?,
            workspace: Arc::clone(&self.workspace),
            observers: self.observers.clone(),
            approver: Arc::clone(&self.approver),
            depth: self.depth,
        };
        Ok(ToolContext {
            state: host.state.clone(),
            local: host.local.clone(),
            call_id: call_id.to_owned(),
            read_only: self.read_only.get(call_id).cloned().unwrap_or_default(),
            log: self.live.log().clone(),
            session: self.live.session().clone(),
            workspace: Arc::clone(&self.workspace),
            recall: Arc::clone(&self.recall),
            memory: self.live.config().memory.clone(),
            host: Arc::new(host),
            turn: self
                .live
                .history()
                .latest_user()
                .map_or(0, |at| self.live.cleared() + at as u64 + 1),
            result_chars: self.result_chars(),
            recorder: Arc::clone(&self.shared.recorder),
            observers: self.observers.clone(),
        })
    }

    /// Returns the messages in memory, newest first, each with the message it was normalized from.
    fn newest_first(&self) -> impl Iterator<Item = (&Message, &Message)> {
        let history = self.live.history();
        (0..history.len()).rev().map_while(|at| Some((history.message(at)?, history.source(at)?)))
    }

    /// Returns the calls that have no result, in order. A call of `call_tool` is replaced by the
    /// call it names.
    fn open_tool_calls(&self) -> Vec<ToolCall> {
        let mut answered: Vec<&str> = Vec::new();
        let mut open: Vec<ToolCall> = Vec::new();
        for (message, source) in self.newest_first() {
            if message.role == Role::User && message.results().next().is_none()
                || message.role == Role::System
            {
                break;
            }
            answered.extend(message.results().map(|result| result.call_id.as_str()));
            // With the ids as they are sent, but with the arguments as the model wrote them.
            let originals: Vec<&ToolCall> = source.calls().collect();
            let call = |(at, call): (usize, &ToolCall)| {
                let original = originals.get(at).filter(|original| original.name == call.name);
                ToolCall { arguments: original.unwrap_or(&call).arguments.clone(), ..call.clone() }
            };
            let calls: Vec<ToolCall> = message.calls().enumerate().map(call).collect();
            open.splice(
                0..0,
                calls.into_iter().filter(|call| !answered.contains(&call.id.as_str())),
            );
        }
        open.into_iter().map(resolve_call_tool).collect()
    }

    /// Returns whether the newest message awaits an answer of the model.
    fn awaits_answer(&self) -> bool {
        self.newest_first().next().is_some_and(|(message, _)| match message.role {
            Role::User | Role::Tool => true,
            Role::Assistant | Role::System => false,
        })
    }

    /// Calls one hook of every middleware. Changes of the state are stored with the next write;
    /// failures are reported and counted.
    async fn call_hooks(
        &mut self,
        hook: Hook,
        turn: &RunState,
        data: &mut HookData<'_>,
    ) -> Result<Verdict, AgentError> {
        let mut state = self.state()?;
        let mut context = HookContext {
            state: &mut state,
            counters: turn.counters(self.shared.iterations.load(Ordering::Relaxed)),
            input: &mut data.input,
            attached: &mut data.attached,
            ephemeral: &mut data.ephemeral,
            answer: data.answer,
            calls: &data.calls,
            synthetic: &mut data.synthetic,
            replies: &data.replies,
            finished: &mut data.finished,
            toolbox: &self.config.toolbox,
        };
        let outcome = self.chain.call(hook, &mut context);
        self.hook_failures += outcome.failed.len();
        outcome.failed.iter().for_each(|event| self.emit(event));
        if outcome.changed {
            self.change_state(move |stored, _| stored.clone_from(&state)).await?;
        }
        Ok(outcome.verdict)
    }
}

/// Returns the call that a call of `call_tool` names; any other call is returned unchanged.
fn resolve_call_tool(call: ToolCall) -> ToolCall {
    if call.name != CALL_TOOL {
        return call;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&call.arguments) else {
        return call;
    };
    let Some(name) = fields.get("name").and_then(Value::as_str) else { return call };
    let arguments =
        fields.get("arguments").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    // Some models write the arguments as a JSON string.
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    ToolCall { id: call.id, name: name.to_owned(), arguments }
}
