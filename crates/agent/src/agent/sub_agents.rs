//! Sub-agents: what they share with the agent that started them, and what they pass up to it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore};
use waterline_log::{Log, LogError, Session};
use waterline_sandbox::Workspace;
use waterline_session::Fence;

use super::Agent;
use super::submit::UserInput;
use crate::approver::{ApprovalReply, Approver, NO_APPROVER};
use crate::changes::Recorder;
use crate::config::AgentConfig;
use crate::observer::{Observers, SubAgentObserver};
use crate::outcome::{Ending, Outcome};
use crate::state::{ApprovalRequest, Local, Question, State, edit};
use crate::tool::{Failure, Host};

/// Maximum depth of nested sub-agents.
const MAX_DEPTH: usize = 2;

/// Maximum number of sub-agents that work at the same time.
const MAX_CONCURRENT: usize = 3;

/// Maximum number of hand-offs since the last message of the user.
const MAX_TRANSFERS: u64 = 5;

/// What an agent shares with its sub-agents, at every depth.
pub(crate) struct Shared {
    /// The configuration of sub-agents.
    config: AgentConfig,
    permits: Semaphore,
    /// Held while the user is asked, so that requests are shown one at a time.
    pub(super) asking: Mutex<()>,
    /// Model calls of all agents since the session was opened.
    pub(super) iterations: AtomicUsize,
    /// Directories in which the user allowed changes, as stored in [`Local::approvals`].
    directories: std::sync::Mutex<BTreeSet<String>>,
    /// Records what all agents change, under the session of the main agent.
    pub(super) recorder: Arc<Recorder>,
    /// The main agent's lease, which the writes of all agents are checked against.
    fence: std::sync::Mutex<Fence>,
}

impl Shared {
    pub(super) fn new(mut config: AgentConfig, recorder: Recorder) -> Self {
        // Events of a sub-agent reach the observers through the agent above it.
        config.observers.clear();
        Self {
            config,
            permits: Semaphore::new(MAX_CONCURRENT),
            asking: Mutex::default(),
            iterations: AtomicUsize::new(0),
            directories: std::sync::Mutex::default(),
            recorder: Arc::new(recorder),
            fence: std::sync::Mutex::default(),
        }
    }

    /// Checks the writes of sub-agents against the lease of the running turn.
    pub(super) fn work_under(&self, fence: Fence) {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner) = fence;
    }

    /// Returns what the writes of sub-agents are checked against.
    pub(super) fn fence(&self) -> Fence {
        self.fence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records approvals that the agents share.
    pub(super) fn approve_directories(&self, approvals: Vec<String>) {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner).extend(approvals);
    }

    /// Returns whether the user gave one of the agents this approval.
    pub(super) fn has_approved(&self, approval: &str) -> bool {
        self.directories.lock().unwrap_or_else(PoisonError::into_inner).contains(approval)
    }
}

/// The agent as seen by its tools.
pub(super) struct SubAgents {
    pub(super) shared: Arc<Shared>,
    pub(super) log: Log,
    pub(super) session: Session,
    pub(super) state: State,
    pub(super) local: Local,
    pub(super) workspace: Arc<Workspace>,
    pub(super) observers: Observers,
    pub(super) approver: Arc<dyn Approver>,
    /// How many agents are above this one.
    pub(super) depth: usize,
}

impl Host for SubAgents {
    fn sub_agent<'a>(
        &'a self,
        task: &'a str,
        max_model_calls: u64,
        private: bool,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            if self.depth >= MAX_DEPTH {
                return Err(Failure::new(format!(
                    "Sub-agents can be nested at most {MAX_DEPTH} levels deep. Do this task \
                     yourself."
                )));
            }
            // A nested sub-agent uses the permit of the sub-agent that waits for it.
            let _permit =
                if self.depth == 0 { self.shared.permits.acquire().await.ok() } else { None };
            let session = self.create(task, max_model_calls, private).await?;
            let context_id = session.context_id.clone();
            let (outcome, model_calls) = self.run_task(&session, task).await;
            let mut result = match outcome {
                Ok(Outcome { ending: Ending::Done, text, .. }) => {
                    json!({"ok": true, "result": text})
                }
                Ok(Outcome { ending: Ending::Limit(why), text, .. }) => {
                    json!({"ok": false, "error": why.to_string(), "result": text})
                }
                Ok(Outcome { ending, .. }) => {
                    json!({"ok": false, "error": failure_reason(&ending)})
                }
                Err(error) => json!({"ok": false, "error": error}),
            };
            if let Some(fields) = result.as_object_mut() {
                fields.insert("context_id".to_owned(), context_id.into());
                fields.insert("model_calls".to_owned(), model_calls.into());
            }
            Ok(result)
        })
    }

    fn describe_tool(&self, name: &str) -> Result<String, Failure> {
        let toolbox = &self.shared.config.toolbox;
        let description = toolbox.description(name).filter(|_| toolbox.may_use(name, &self.local));
        description.ok_or_else(|| Failure::new(toolbox.unknown(name, &self.local)))
    }

    fn may_hand_off(&self, to: &str) -> Result<String, Failure> {
        let roles = &self.shared.config.roles;
        let own = self.state.role.as_deref().unwrap_or_default();
        let role = roles.iter().find(|role| role.name == own);
        let allowed = role.map(|role| role.hands_to.clone()).unwrap_or_default();
        if !allowed.iter().any(|name| name == to) || !roles.iter().any(|role| role.name == to) {
            let hint = match allowed.as_slice() {
                [] => "this role may not hand off work".to_owned(),
                names => format!("allowed roles: {}", names.join(", ")),
            };
            return Err(Failure::new(format!("Cannot hand off to {to:?}; {hint}.")));
        }
        if self.state.transfers >= MAX_TRANSFERS {
            return Err(Failure::new(format!(
                "The limit of {MAX_TRANSFERS} hand-offs was reached. Finish the work yourself."
            )));
        }
        Ok(if own.is_empty() { "main".to_owned() } else { own.to_owned() })
    }
}

impl SubAgents {
    /// Creates the session of a sub-agent, which works in the workspace of its parent unless it is
    /// `private`.
    async fn create(
        &self,
        task: &str,
        max_model_calls: u64,
        private: bool,
    ) -> Result<Session, Failure> {
        let parent = self.session.id.clone();
        let owner = self.local.workspace_of.clone().unwrap_or_else(|| parent.clone());
        let directory = self.workspace.path().display().to_string();
        let title: String = task.lines().next().unwrap_or_default().chars().take(60).collect();
        let log = self.log.handle();
        let fence = self.shared.fence();
        let created = log.write(move |log| {
            fence.check(log)?;
            let mut session = log.create_sub_agent(&parent)?;
            session.title.clone_from(&title);
            session.workspace = Some(directory.clone()).filter(|_| !private);
            let edited = edit(&mut session, |state, local| {
                state.max_loops = Some(max_model_calls);
                local.workspace_of = Some(owner.clone()).filter(|_| !private);
            });
            edited.map_err(|error| LogError::Refused(error.to_string().into()))?;
            log.save(&session)?;
            Ok(session)
        });
        created.await.map_err(|error| Failure::new(error.to_string()))
    }

    /// Runs a sub-agent on a task. Returns the outcome and the number of model calls.
    async fn run_task(&self, session: &Session, task: &str) -> (Result<Outcome, String>, u64) {
        let mut config = self.shared.config.clone();
        // A sub-agent is limited by `max_model_calls` of its call instead.
        config.limits.steps = Some(usize::MAX);
        config.prompt = None;
        if session.workspace.is_none() {
            config.directory = None;
            config.grants.clear();
        }
        let context_id = session.context_id.clone();
        let above = self.observers.clone();
        let observer = SubAgentObserver { context_id: context_id.clone(), above };
        let observers = Observers::new(vec![Arc::new(observer)]);
        let approver = Arc::new(SubAgentApprover { context_id, above: Arc::clone(&self.approver) });
        let shared = Arc::clone(&self.shared);
        let log = self.log.clone();
        let opened =
            Agent::open_at(log, &session.id, config, (observers, approver), shared, self.depth + 1);
        let mut agent = match opened.await {
            Ok(agent) => agent,
            Err(error) => return (Err(error.to_string()), 0),
        };
        let outcome = agent.turn(UserInput::new(task)).await.map_err(|error| error.to_string());
        let model_calls = agent.state().map_or(0, |state| state.loops);
        (outcome, model_calls)
    }
}

fn failure_reason(ending: &Ending) -> String {
    match ending {
        Ending::Done => "done".to_owned(),
        Ending::Limit(why) | Ending::Halted(why) => why.to_string(),
        Ending::Waiting(_) => "it needs the user, who is not available".to_owned(),
        Ending::HandOff { .. } => "a sub-agent cannot hand off its work".to_owned(),
    }
}

/// Passes the requests of a sub-agent to the approver of the agent that started it.
struct SubAgentApprover {
    context_id: String,
    above: Arc<dyn Approver>,
}

impl Approver for SubAgentApprover {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let context_id = request.context_id.clone().or_else(|| Some(self.context_id.clone()));
            let request = ApprovalRequest { context_id, ..request.clone() };
            match self.above.approve(&request).await {
                // Sub-agents are not resumed, so a call that is not approved now is not run.
                ApprovalReply::Deferred => ApprovalReply::NoReply(NO_APPROVER.to_owned()),
                reply => reply,
            }
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let answer = self.above.ask(question).await;
            answer.or_else(|| {
                Some(
                    "[no user is available to answer. Decide yourself, or report what you need to \
                     know.]"
                        .to_owned(),
                )
            })
        })
    }
}
