//! Calls that have no result and must not be run.
//!
//! Calls that were running when the process exited get an interrupted result and are never run
//! again automatically; their ids are stored before they start. Calls of an imported conversation
//! get a cancelled result, because no model of this user made them.

use waterline::message::{Part, ToolCall};

use super::Agent;
use super::results::result_message;
use crate::error::AgentError;

/// The result of a call that was running when the process exited.
const INTERRUPTED: &str = "[interrupted: the process exited while this call was running; its \
                           effect is unknown. Verify before retrying.]";

/// The result of a call that was imported with a conversation.
const IMPORTED: &str = "[cancelled: this call is part of an imported conversation and was not \
                        run here. Call the tool again if the result is still needed.]";

impl Agent {
    /// Cancels the open calls of an imported conversation before it is continued: the author of the
    /// imported file must not be able to run calls here. A pending question has no effect and stays
    /// open.
    pub(super) async fn cancel_imported_tool_calls(&mut self) -> Result<(), AgentError> {
        let state = self.state()?;
        let question = state.question().map(|question| question.call_id.clone());
        let imported = self.imported_call_ids();
        let is_cancelled =
            |call: &ToolCall| imported.contains(&call.id) && question.as_ref() != Some(&call.id);
        let open: Vec<ToolCall> = self.open_tool_calls().into_iter().filter(is_cancelled).collect();
        if open.is_empty() {
            return Ok(());
        }
        let results =
            open.iter().map(|call| result_message(call, vec![Part::text(IMPORTED)], true));
        self.live.add_messages(results.collect()).await?;
        if question.is_none() {
            self.change_state(|state, _| state.pending = None).await?;
        }
        self.commit().await
    }

    /// Returns the ids of the calls in imported messages, as far as they are in memory.
    fn imported_call_ids(&self) -> Vec<String> {
        let history = self.live.history();
        let cleared = self.live.cleared();
        let imported = self.live.session().imported;
        let positions = (0..history.len()).filter(|at| cleared + (*at as u64) < imported);
        let messages = positions.filter_map(|at| history.message(at));
        messages.flat_map(|message| message.calls().map(|call| call.id.clone())).collect()
    }

    /// Stores interrupted results for calls that were started. Returns the calls that were not.
    pub(super) async fn answer_interrupted(
        &mut self,
        open: Vec<ToolCall>,
    ) -> Result<Vec<ToolCall>, AgentError> {
        let started = self.local_state()?.started;
        let waiting = self.state()?.pending.map(|waiting| waiting.call_id().to_owned());
        let was_started =
            |call: &ToolCall| started.contains(&call.id) && waiting.as_ref() != Some(&call.id);
        let (interrupted, rest): (Vec<ToolCall>, Vec<ToolCall>) =
            open.into_iter().partition(was_started);
        if !interrupted.is_empty() {
            let results = interrupted
                .iter()
                .map(|call| result_message(call, vec![Part::text(INTERRUPTED)], true));
            self.live.say(results.collect()).await?;
        }
        Ok(rest)
    }

    /// Stores the ids of calls that are about to start, together with the records of the files
    /// that they are about to write.
    pub(super) async fn record_started(&mut self, calls: &[ToolCall]) -> Result<(), AgentError> {
        if self.live.has_unsaved_messages() {
            self.commit().await?;
        }
        if self.depth == 0 {
            self.shared.recorder.set_message(self.live.session().tip);
        }
        let records = self.plan_writes(calls.to_vec()).await?;
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        self.change_state(move |_, local| local.started.clone_from(&ids)).await?;
        self.live.add_file_records(records);
        self.commit().await
    }
}
