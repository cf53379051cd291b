//! Agents that an agent starts for a task, and roles it can hand its work to.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use waterline_log::{LogError, Session};

use crate::agent::Agent;
use crate::config::AgentConfig;
use crate::event::Event;
use crate::outcome::{Ending, Outcome};
use crate::person::{Person, Word};
use crate::state::{Question, Request, State, edit};
use crate::submit::Said;
use crate::tool::{Failure, Scene};

/// How deep agents may start agents.
const DEPTH: usize = 2;

/// How many sub-agents work at once.
const AT_ONCE: usize = 3;

/// How often work is handed over in one run.
const TRANSFERS: u64 = 5;

/// Who can be started.
pub struct Crew {
    config: AgentConfig,
    places: Semaphore,
    /// People are asked one thing at a time.
    pub(crate) asking: tokio::sync::Mutex<()>,
    /// Model calls of all of them since the session was opened.
    pub(crate) iterations: AtomicUsize,
}

impl Crew {
    pub(crate) fn new(config: AgentConfig) -> Self {
        let (asking, iterations) = (tokio::sync::Mutex::default(), AtomicUsize::new(0));
        Self { config, places: Semaphore::new(AT_ONCE), asking, iterations }
    }

    /// Has a task done by an agent with a context of its own. Only what this gives enters the history of who asked.
    pub(crate) fn sub_agent<'a>(
        self: &'a Arc<Self>,
        scene: &'a Scene,
        task: &'a str,
        max_loops: u64,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async move {
            if scene.depth >= DEPTH {
                return Err(Failure::new(format!("sub-agents may be {DEPTH} deep at most; do this yourself")));
            }
            // A sub-agent of a sub-agent works in the place of the one that waits for it.
            let _place = if scene.depth == 0 { self.places.acquire().await.ok() } else { None };
            let parent = scene.session.id.clone();
            let owner = scene.local.workspace_of.clone().unwrap_or_else(|| parent.clone());
            let folder = scene.workspace.path().display().to_string();
            let title: String = task.lines().next().unwrap_or_default().chars().take(60).collect();
            let session = scene.on_log(move |log| {
                let mut session = log.create_sub_agent(&parent)?;
                session.title = title;
                session.workspace = Some(folder);
                let edited = edit(&mut session, |state, local| {
                    state.max_loops = Some(max_loops);
                    local.workspace_of = Some(owner);
                });
                edited.map_err(|error| LogError::Refused(error.to_string()))?;
                log.save(&session)?;
                Ok(session)
            });
            let session = session.await?;
            let context_id = session.context_id.clone();
            let (outcome, loops) = self.work(scene, &session, task).await;
            Ok(match outcome {
                Ok(Outcome { ending: Ending::Done, text, .. }) => {
                    json!({"ok": true, "result": text, "context_id": context_id, "loops": loops})
                }
                Ok(Outcome { ending: Ending::Limit(why), text, .. }) => {
                    json!({"ok": false, "error": why, "result": text, "context_id": context_id, "loops": loops})
                }
                Ok(Outcome { ending, .. }) => {
                    json!({"ok": false, "error": words(&ending), "context_id": context_id, "loops": loops})
                }
                Err(error) => json!({"ok": false, "error": error, "context_id": context_id, "loops": loops}),
            })
        })
    }

    /// What came of a task, and in how many model calls.
    async fn work(self: &Arc<Self>, scene: &Scene, session: &Session, task: &str) -> (Result<Outcome, String>, u64) {
        let mut config = self.config.clone();
        // Its limit is its number of loops.
        config.limits.steps = usize::MAX;
        config.prompt = None;
        let person = Arc::new(Below { context_id: session.context_id.clone(), above: Arc::clone(&scene.person) });
        let opened = Agent::of_crew(scene.log.clone(), &session.id, config, person, Arc::clone(self), scene.depth + 1);
        let mut agent = match opened.await {
            Ok(agent) => agent,
            Err(error) => return (Err(error.to_string()), 0),
        };
        let outcome = agent.turn(Said::new(task)).await.map_err(|error| error.to_string());
        let loops = agent.state().map_or(0, |state| state.loops);
        (outcome, loops)
    }

    /// Whether a session may hand its work to a role.
    pub(crate) fn may_hand_off(&self, state: &State, to: &str) -> Result<(), Failure> {
        let own = state.role.as_deref().unwrap_or_default();
        let allowed = self.config.roles.iter().find(|role| role.name == own).map(|role| role.hands_to.clone());
        let allowed = allowed.unwrap_or_default();
        if !allowed.iter().any(|name| name == to) || !self.config.roles.iter().any(|role| role.name == to) {
            return Err(Failure::new(format!("work cannot be handed to {to:?}; it can to {}", allowed.join(", "))));
        }
        let made = state.transfers;
        if made >= TRANSFERS {
            return Err(Failure::new(format!(
                "work was handed over {made} times, as often as it may be; finish it yourself"
            )));
        }
        Ok(())
    }
}

fn words(ending: &Ending) -> String {
    match ending {
        Ending::Done => "it is done".to_owned(),
        Ending::Limit(why) | Ending::Halted(why) => why.clone(),
        Ending::Waiting(_) => "it waits for a person, and nobody is there".to_owned(),
        Ending::HandOff { .. } => "it handed its work over, which a sub-agent cannot".to_owned(),
    }
}

/// Whoever watches the agent above, for one below.
struct Below {
    context_id: String,
    above: Arc<dyn Person>,
}

impl Person for Below {
    fn hear(&self, event: &Event) {
        self.above.hear(&Event::Below { context_id: self.context_id.clone(), event: Box::new(event.clone()) });
    }

    fn approve<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Word> {
        Box::pin(async move {
            let context_id = request.context_id.clone().or_else(|| Some(self.context_id.clone()));
            let request = Request { context_id, ..request.clone() };
            match self.above.approve(&request).await {
                // A sub-agent is not taken up again: what nobody agrees to now is not run.
                Word::Later => Word::Unanswered("nobody is there to agree to it".to_owned()),
                word => word,
            }
        })
    }

    fn answer<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let answer = self.above.answer(question).await;
            answer
                .or_else(|| Some("[nobody is there to answer; decide yourself, or say what you would need]".to_owned()))
        })
    }
}
