//! One turn: submit → (call the model → run its tool calls)* → finish.
//!
//! What comes next is always derived from the session itself: open tool calls are run, a user message
//! or tool results go to the model, and an answer without tool calls ends the turn. An interrupted
//! turn therefore resumes from the log alone, wherever it stopped.

use waterline_session::SessionError;

use super::submit::UserInput;
use super::turn_state::{Next, TurnState};
use super::{Agent, HookData};
use crate::error::AgentError;
use crate::event::{Event, FailureKind};
use crate::lease::Lease;
use crate::middleware::Hook;
use crate::notice::Notice;
use crate::outcome::{Ending, Outcome};
use crate::state::HandedOff;

impl Agent {
    /// Runs a turn on a user input. The turn ends with an answer, at a limit, or when it must wait
    /// for the user.
    ///
    /// # Errors
    /// When the log cannot be written, or the model call fails. Everything done before the error is
    /// in the log, and the turn can be resumed.
    pub async fn turn(&mut self, input: UserInput) -> Result<Outcome, AgentError> {
        let _lease = self.lease().await?;
        // A crash may have interrupted an undo that moves files.
        self.finish_move().await?;
        let next = self.submit(input).await?;
        self.run_until_end(next).await
    }

    /// Resumes an interrupted turn.
    ///
    /// # Errors
    /// When there is nothing to resume; otherwise as for [`Agent::turn`].
    pub async fn resume(&mut self) -> Result<Outcome, AgentError> {
        let _lease = self.lease().await?;
        self.finish_move().await?;
        // An unreadable schema is reported before anything is called.
        self.schema()?;
        self.cancel_imported_calls().await?;
        let next = self.next_action()?.ok_or(AgentError::NothingToResume)?;
        self.run_until_end(next).await
    }

    /// Locks the session against other processes and loads what they added to it. A sub-agent
    /// works under the lease of the agent that started it.
    pub(super) async fn lease(&mut self) -> Result<Option<Lease>, AgentError> {
        let lease = match self.depth {
            0 => {
                let log = self.live.log().handle();
                let session = &self.live.session().id;
                let machine = self.config.machine.as_deref();
                let lease = Lease::take(log, self.workspace.path(), session, machine).await?;
                // Every write checks the fence, so that a process that lost its lease stores
                // nothing more.
                self.live.work_under(lease.held.fence());
                self.shared.work_under(lease.held.fence());
                Some(lease)
            }
            _ => None,
        };
        self.live.resync().await?;
        if self.live.catch_up().await? {
            self.emit(&Event::Notice(Notice::OtherProcess));
        }
        self.update_kept()?;
        Ok(lease)
    }

    /// Calls the model and runs its tool calls in turn, until the turn ends.
    async fn run_until_end(&mut self, mut next: Next) -> Result<Outcome, AgentError> {
        let mut turn = self.begin_run().await?;
        self.live.clear_ephemeral();
        self.emit(&Event::Begins);
        let ending = loop {
            let (kind, done) = match next {
                Next::Model => (FailureKind::Model, self.call_model(&mut turn).await),
                Next::Tools => (FailureKind::Tool, self.run_calls(&mut turn).await),
                Next::End(ending) => break ending,
            };
            next = done.inspect_err(|error| {
                self.emit(&Event::Failed {
                    kind: failure_kind(error, kind),
                    why: error.to_string(),
                })
            })?;
        };
        self.finish_turn(&mut turn, ending).await
    }

    /// Starts a run, which is one execution of a turn: a resumed turn has several. Creates the id
    /// that the events and checkpoints of the run carry.
    async fn begin_run(&mut self) -> Result<TurnState, AgentError> {
        let run_id = waterline_log::new_id();
        let session = self.live.session();
        self.observers.set_source(|source| {
            source.session.clone_from(&session.id);
            source.context_id.clone_from(&session.context_id);
            source.run_id.clone_from(&run_id);
            source.step = 0;
        });
        let id = run_id.clone();
        self.change_state(move |state, _| state.run_id = Some(id.clone())).await?;
        Ok(TurnState::new(run_id, self.config.checkpoints))
    }

    /// Returns what to do next, derived from the session, or `None` if the last turn is finished.
    pub(super) fn next_action(&self) -> Result<Option<Next>, AgentError> {
        if !self.open_calls().is_empty() {
            return Ok(Some(Next::Tools));
        }
        let local = self.local()?;
        if let Some(HandedOff { to, package, done }) = local.hand_off {
            return Ok((!done).then_some(Next::End(Ending::HandOff { to, package })));
        }
        Ok((self.awaits_answer() || local.is_truncated).then_some(Next::Model))
    }

    /// Runs the `after_agent` hooks, stores what is left to store, and returns the outcome.
    async fn finish_turn(
        &mut self,
        turn: &mut TurnState,
        ending: Ending,
    ) -> Result<Outcome, AgentError> {
        let ending = match self.run_hooks(Hook::AfterAgent, turn, &mut HookData::default()).await? {
            Some(Next::End(other)) => other,
            _ => ending,
        };
        // A schema applies to one turn; a turn that can be resumed keeps it.
        if self.state()?.schema.is_some() && self.next_action()?.is_none() {
            self.change_state(|state, _| state.schema = None).await?;
        }
        // The last step wrote a checkpoint. The turn needs another if something changed since, or
        // if steps write none.
        if self.live.has_unsaved() || !turn.writes_checkpoints {
            self.live.add_checkpoint(turn.checkpoint("turn"));
            self.commit().await?;
        }
        self.emit(&Event::Ends);
        Ok(Outcome { ending, text: turn.text.clone(), steps: turn.steps, usage: turn.usage })
    }
}

/// Returns what failed. Only errors of the session are blamed on the call or the tools that ran.
/// Errors of the log, the workspace and the rest can occur in both.
const fn failure_kind(error: &AgentError, running: FailureKind) -> FailureKind {
    match error {
        AgentError::Session(SessionError::Log(_)) => FailureKind::Other,
        AgentError::Session(_) => running,
        _ => FailureKind::Other,
    }
}
