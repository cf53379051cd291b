//! One turn: submit → (call the model → run its tool calls)* → finish. A *run* is one execution of
//! a turn by a process. A turn that is interrupted and resumed has several runs.
//!
//! Each action returns the next one: open tool calls are run, a user message or tool results go to
//! the model, and an answer without tool calls ends the turn. [`Agent::next_action`] derives the
//! next action from the stored session, so that an interrupted turn resumes from the log alone,
//! wherever it stopped.

use waterline_session::SessionError;

use super::run_state::{Next, RunState};
use super::submit::UserInput;
use super::{Agent, HookData};
use crate::error::AgentError;
use crate::event::{Event, FailureKind};
use crate::lease::Lease;
use crate::middleware::Hook;
use crate::notice::Notice;
use crate::offline;
use crate::outcome::{Ending, Outcome};
use crate::state::HandedOff;

impl Agent {
    /// Runs a turn for a user input, until it has an answer, hands over to another role, reaches a
    /// limit, or must wait for the user.
    ///
    /// # Errors
    /// When the log cannot be written, or the model call fails. Everything done before the error is
    /// in the log, and the turn can be resumed.
    pub async fn turn(&mut self, input: impl Into<UserInput>) -> Result<Outcome, AgentError> {
        let input = input.into();
        let _lease = self.lock_session().await?;
        self.finish_file_changes().await?;
        let next = self.submit(input).await?;
        self.run(next).await
    }

    /// Resumes an interrupted turn.
    ///
    /// # Errors
    /// When there is nothing to resume; otherwise as for [`Agent::turn`].
    pub async fn resume(&mut self) -> Result<Outcome, AgentError> {
        let _lease = self.lock_session().await?;
        self.finish_file_changes().await?;
        // An invalid answer schema is reported before the model or a tool is called.
        self.answer_schema()?;
        self.cancel_imported_tool_calls().await?;
        let next = self.next_action()?.ok_or(AgentError::NothingToResume)?;
        // The offline model is not recorded: the session's own model may be available again later.
        if self.live.config().model.name != offline::NAME {
            self.record_model().await?;
        }
        self.run(next).await
    }

    /// Locks the session against other processes, loads what they added to it, and updates what
    /// folds must keep. A sub-agent works under the lease of the agent that started it.
    pub(super) async fn lock_session(&mut self) -> Result<Option<Lease>, AgentError> {
        let is_sub_agent = self.depth > 0;
        let lease = if is_sub_agent { None } else { Some(self.take_lease().await?) };
        self.live.reload_if_interrupted().await?;
        if self.live.load_foreign_changes().await? {
            self.emit(&Event::Notice(Notice::OtherProcess));
        }
        self.update_kept()?;
        Ok(lease)
    }

    async fn take_lease(&mut self) -> Result<Lease, AgentError> {
        let log = self.live.log().handle();
        let session = &self.live.session().id;
        let machine = self.config.machine.as_deref();
        let lease = Lease::take(log, self.workspace.path(), session, machine).await?;
        // Every write checks the fence, so that a process that lost its lease stores nothing more.
        self.live.work_under(lease.held.fence());
        self.shared.work_under(lease.held.fence());
        Ok(lease)
    }

    /// Calls the model and runs its tool calls, one after the other, until the turn ends or must
    /// wait for the user.
    async fn run(&mut self, mut next: Next) -> Result<Outcome, AgentError> {
        let mut run = self.start_run().await?;
        // A run that failed may have left messages for a call that it never made.
        self.live.clear_ephemeral();
        self.emit(&Event::Begins);
        let ending = loop {
            let (result, action) = match next {
                Next::Model => (self.call_model(&mut run).await, FailureKind::Model),
                Next::Tools => (self.run_tool_calls(&mut run).await, FailureKind::Tool),
                Next::End(ending) => break ending,
            };
            next = result.inspect_err(|error| self.emit_failure(error, action))?;
        };
        self.finish_run(&mut run, ending).await
    }

    /// Reports that the action failed. The caller gets the error too.
    fn emit_failure(&self, error: &AgentError, action: FailureKind) {
        let kind = match error {
            // Every action uses the log, so its error is neither the model's nor a tool's.
            AgentError::Session(SessionError::Log(_)) => FailureKind::Other,
            AgentError::Session(_) => action,
            _ => FailureKind::Other,
        };
        self.emit(&Event::Failed { kind, why: error.to_string() });
    }

    /// Starts a run: creates the id that its events and checkpoints carry.
    async fn start_run(&mut self) -> Result<RunState, AgentError> {
        self.prepare_search();
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
        Ok(RunState::new(run_id, self.config.checkpoints))
    }

    /// Returns what to do next, derived from the session, or `None` if the last turn is finished.
    pub(super) fn next_action(&self) -> Result<Option<Next>, AgentError> {
        if !self.open_tool_calls().is_empty() {
            return Ok(Some(Next::Tools));
        }
        let local_state = self.local_state()?;
        if let Some(HandedOff { to, package, done }) = local_state.hand_off {
            return Ok((!done).then_some(Next::End(Ending::HandOff { to, package })));
        }
        Ok((self.awaits_answer() || local_state.is_truncated).then_some(Next::Model))
    }

    /// Runs the `after_agent` hooks, stores what is left to store, and returns how the run ended.
    async fn finish_run(
        &mut self,
        run: &mut RunState,
        ending: Ending,
    ) -> Result<Outcome, AgentError> {
        let ending = match self.run_hooks(Hook::AfterAgent, run, &mut HookData::default()).await? {
            Some(Next::End(other)) => other,
            _ => ending,
        };
        // A schema applies to one turn; a turn that can be resumed keeps it.
        if self.state()?.schema.is_some() && self.next_action()?.is_none() {
            self.change_state(|state, _| state.schema = None).await?;
        }
        // If steps write checkpoints, the last of them is enough unless something changed since.
        if self.live.has_unsaved() || !run.writes_checkpoints {
            self.live.add_checkpoint(run.checkpoint("turn"));
            self.commit().await?;
        }
        self.emit(&Event::Ends);
        Ok(Outcome {
            run_id: run.run_id.clone(),
            ending,
            text: run.text.clone(),
            steps: run.steps,
            usage: run.usage,
        })
    }
}
