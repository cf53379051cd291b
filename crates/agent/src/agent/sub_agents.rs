//! Agents that an agent starts for a task: what they share with it, and what they pass up.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore};
use waterline_log::{Log, LogError, Session};
use waterline_sandbox::Workspace;

use super::Agent;
use super::submit::UserInput;
use crate::approver::{ApprovalReply, Approver};
use crate::config::AgentConfig;
use crate::observer::{Below, Observers};
use crate::outcome::{Ending, Outcome};
use crate::state::{ApprovalRequest, Local, Question, State, edit};
use crate::tool::{Failure, Host};

/// How deep agents may start agents.
const DEPTH: usize = 2;

/// How many sub-agents work at once.
const AT_ONCE: usize = 3;

/// How often work is handed over in one run.
const TRANSFERS: u64 = 5;

/// What an agent shares with its sub-agents, at every depth.
pub(crate) struct Shared {
    /// What sub-agents are made with.
    config: AgentConfig,
    places: Semaphore,
    /// The user is asked one thing at a time.
    pub(super) asking: Mutex<()>,
    /// Model calls of all of them since the session was opened.
    pub(super) iterations: AtomicUsize,
}

impl Shared {
    pub(super) fn new(mut config: AgentConfig) -> Self {
        // A sub-agent's events reach the observers through the agent above it.
        config.observers.clear();
        Self {
            config,
            places: Semaphore::new(AT_ONCE),
            asking: Mutex::default(),
            iterations: AtomicUsize::new(0),
        }
    }
}

/// One agent, as its tools see it.
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
        max_loops: u64,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            if self.depth >= DEPTH {
                return Err(Failure::new(format!(
                    "sub-agents may be {DEPTH} deep at most; do this yourself"
                )));
            }
            // A sub-agent of a sub-agent works in the place of the one that waits for it.
            let _place =
                if self.depth == 0 { self.shared.places.acquire().await.ok() } else { None };
            let session = self.create(task, max_loops).await?;
            let context_id = session.context_id.clone();
            let (outcome, loops) = self.work(&session, task).await;
            Ok(match outcome {
                Ok(Outcome { ending: Ending::Done, text, .. }) => {
                    json!({"ok": true, "result": text, "context_id": context_id, "loops": loops})
                }
                Ok(Outcome { ending: Ending::Limit(why), text, .. }) => {
                    json!({"ok": false, "error": why, "result": text, "context_id": context_id, "loops": loops})
                }
                Ok(Outcome { ending, .. }) => {
                    json!({"ok": false, "error": why_not_done(&ending), "context_id": context_id, "loops": loops})
                }
                Err(error) => {
                    json!({"ok": false, "error": error, "context_id": context_id, "loops": loops})
                }
            })
        })
    }

    fn may_hand_off(&self, to: &str) -> Result<String, Failure> {
        let roles = &self.shared.config.roles;
        let own = self.state.role.as_deref().unwrap_or_default();
        let allowed = roles.iter().find(|role| role.name == own).map(|role| role.hands_to.clone());
        let allowed = allowed.unwrap_or_default();
        if !allowed.iter().any(|name| name == to) || !roles.iter().any(|role| role.name == to) {
            return Err(Failure::new(format!(
                "work cannot be handed to {to:?}; it can to {}",
                allowed.join(", ")
            )));
        }
        let made = self.state.transfers;
        if made >= TRANSFERS {
            return Err(Failure::new(format!(
                "work was handed over {made} times, as often as it may be; finish it yourself"
            )));
        }
        Ok(if own.is_empty() { "main".to_owned() } else { own.to_owned() })
    }
}

impl SubAgents {
    /// Creates the session of a sub-agent. It works in the directory of its parent.
    async fn create(&self, task: &str, max_loops: u64) -> Result<Session, Failure> {
        let parent = self.session.id.clone();
        let owner = self.local.workspace_of.clone().unwrap_or_else(|| parent.clone());
        let directory = self.workspace.path().display().to_string();
        let title: String = task.lines().next().unwrap_or_default().chars().take(60).collect();
        let log = self.log.handle();
        let created = log.run(move |log| {
            let mut session = log.create_sub_agent(&parent)?;
            session.title = title;
            session.workspace = Some(directory);
            let edited = edit(&mut session, |state, local| {
                state.max_loops = Some(max_loops);
                local.workspace_of = Some(owner);
            });
            edited.map_err(|error| LogError::Refused(error.to_string()))?;
            log.save(&session)?;
            Ok(session)
        });
        created.await.map_err(|error| Failure::new(error.to_string()))
    }

    /// Works on a task; returns the outcome and the number of model calls.
    async fn work(&self, session: &Session, task: &str) -> (Result<Outcome, String>, u64) {
        let mut config = self.shared.config.clone();
        // Its limit is its number of loops.
        config.limits.steps = usize::MAX;
        config.prompt = None;
        let context_id = session.context_id.clone();
        let below = Below { context_id: context_id.clone(), above: self.observers.clone() };
        let observers = Observers::new(vec![Arc::new(below)]);
        let approver = Arc::new(ApproverBelow { context_id, above: Arc::clone(&self.approver) });
        let shared = Arc::clone(&self.shared);
        let log = self.log.clone();
        let opened =
            Agent::open_at(log, &session.id, config, (observers, approver), shared, self.depth + 1);
        let mut agent = match opened.await {
            Ok(agent) => agent,
            Err(error) => return (Err(error.to_string()), 0),
        };
        let outcome = agent.turn(UserInput::new(task)).await.map_err(|error| error.to_string());
        let loops = agent.state().map_or(0, |state| state.loops);
        (outcome, loops)
    }
}

fn why_not_done(ending: &Ending) -> String {
    match ending {
        Ending::Done => "it is done".to_owned(),
        Ending::Limit(why) | Ending::Halted(why) => why.clone(),
        Ending::Waiting(_) => "it waits for a person, and nobody is there".to_owned(),
        Ending::HandOff { .. } => "it handed its work over, which a sub-agent cannot".to_owned(),
    }
}

/// Passes the requests of a sub-agent to the approver of the agent that started it.
struct ApproverBelow {
    context_id: String,
    above: Arc<dyn Approver>,
}

impl Approver for ApproverBelow {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let context_id = request.context_id.clone().or_else(|| Some(self.context_id.clone()));
            let request = ApprovalRequest { context_id, ..request.clone() };
            match self.above.approve(&request).await {
                // A sub-agent is not resumed: a call that is not approved now is not run.
                ApprovalReply::Deferred => {
                    ApprovalReply::NoReply("nobody is there to agree to it".to_owned())
                }
                reply => reply,
            }
        })
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let answer = self.above.ask(question).await;
            answer.or_else(|| {
                Some(
                    "[nobody is there to answer; decide yourself, or say what you would need]"
                        .to_owned(),
                )
            })
        })
    }
}
