//! One turn: submit → (call → tools)* → end.
//!
//! What comes next is read off the session itself: open calls are run, a question or results are
//! answered by the model, and an answer ends the turn. So a turn that was broken off anywhere is
//! gone on with by looking where it stands.

use serde_json::json;
use waterline_session::SessionError;

use super::lease::Lease;
use super::submit::UserInput;
use super::turn_state::{Next, TurnState};
use super::{Agent, View};
use crate::error::AgentError;
use crate::event::{Event, FailureKind};
use crate::middleware::Hook;
use crate::outcome::{Ending, Outcome};
use crate::state::HandedOff;

impl Agent {
    /// Says something to the agent, and lets it work until it has an answer, must end, or waits for
    /// somebody.
    ///
    /// # Errors
    /// When the log cannot be written, or the model cannot be asked. What was done until then is in
    /// the log.
    pub async fn turn(&mut self, said: UserInput) -> Result<Outcome, AgentError> {
        let _lease = self.lease().await?;
        let next = self.submit(said).await?;
        self.work(next).await
    }

    /// Goes on with a turn that was broken off.
    ///
    /// # Errors
    /// When there is nothing to go on with; otherwise as for a turn.
    pub async fn resume(&mut self) -> Result<Outcome, AgentError> {
        let _lease = self.lease().await?;
        self.schema()?;
        self.cancel_foreign().await?;
        let next = self.next()?.ok_or(AgentError::Finished)?;
        self.work(next).await
    }

    /// Makes sure that nobody else works in the session, and that all that was done in it is known
    /// here. A sub-agent works under the lease of the agent that started it.
    async fn lease(&mut self) -> Result<Option<Lease>, AgentError> {
        let lease = match self.depth {
            0 => {
                let (log, session) = (self.live.log().handle(), &self.live.session().id);
                let lease = Lease::take(log, self.workspace.path(), session).await?;
                self.live.work_under(&lease.held);
                Some(lease)
            }
            _ => None,
        };
        self.live.resync().await?;
        if self.live.catch_up().await? {
            self.emit(&Event::Notice(
                "another process went on with this session; it goes on from there".to_owned(),
            ));
        }
        let kept = self.state()?.kept();
        self.live.keep(kept);
        Ok(lease)
    }

    async fn work(&mut self, mut next: Next) -> Result<Outcome, AgentError> {
        let mut turn = TurnState::new();
        self.live.clear_ephemeral();
        self.emit(&Event::Begins);
        let ending = loop {
            let (during, step) = match next {
                Next::Model => (FailureKind::Model, self.call_model(&mut turn).await),
                Next::Tools => (FailureKind::Tool, self.run_calls(&mut turn).await),
                Next::End(ending) => break ending,
            };
            next = step.inspect_err(|error| {
                self.emit(&Event::Failed {
                    kind: failure_kind(error, during),
                    why: error.to_string(),
                })
            })?;
        };
        self.end(&mut turn, ending).await
    }

    /// What comes next, read off the session; nothing where the last turn is finished.
    pub(super) fn next(&self) -> Result<Option<Next>, AgentError> {
        if !self.open_calls().is_empty() {
            return Ok(Some(Next::Tools));
        }
        let local = self.local()?;
        if let Some(HandedOff { to, package, done }) = local.hand_off {
            return Ok((!done).then_some(Next::End(Ending::HandOff { to, package })));
        }
        Ok((self.awaits_answer() || local.is_cut).then_some(Next::Model))
    }

    async fn end(&mut self, turn: &mut TurnState, ending: Ending) -> Result<Outcome, AgentError> {
        let ending = match self.decided(Hook::AfterAgent, turn, &mut View::default()).await? {
            Some(Next::End(other)) => other,
            _ => ending,
        };
        // A schema holds for its turn; one that can be resumed keeps it.
        if self.state()?.schema.is_some() && self.next()?.is_none() {
            self.stage(|state, _| state.schema = None).await?;
        }
        // The checkpoint of the last step is the turn's, unless something changed since.
        if self.live.is_staged() {
            self.live
                .stage_checkpoint(json!({"step": turn.steps, "after": "turn", "source": "agent"}));
            self.commit().await?;
        }
        self.emit(&Event::Ends);
        Ok(Outcome { ending, text: turn.text.clone(), steps: turn.steps, usage: turn.usage })
    }
}

/// What an error in a step says failed: the log and the workspace can fail in every step.
const fn failure_kind(error: &AgentError, during: FailureKind) -> FailureKind {
    match error {
        AgentError::Session(SessionError::Log(_)) => FailureKind::Other,
        AgentError::Session(_) => during,
        _ => FailureKind::Other,
    }
}
