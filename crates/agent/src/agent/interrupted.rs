//! Calls that have no result and are not to be run. Those that were begun when the program ended
//! are answered as interrupted, never run again blindly: which were begun is in the state, written
//! before they began. Those that came with an imported conversation are answered as cancelled:
//! nobody here had them made.

use waterline::message::{Part, ToolCall};

use super::Agent;
use super::run_calls::result;
use crate::error::AgentError;

const TEXT: &str = "[interrupted: the program ended while this ran; whether it took effect is not known. Look before you do it again.]";

/// What a call is answered with that came from elsewhere.
const FOREIGN: &str = "[cancelled: this call came with an imported conversation and was not run here. Make it again if it is still wanted.]";

impl Agent {
    /// Answers calls that came with an imported conversation, before somebody goes on with it:
    /// whoever wrote that file must not have them run here. A question that waits does nothing, and
    /// stays.
    pub(super) async fn cancel_foreign(&mut self) -> Result<(), AgentError> {
        let state = self.state()?;
        let asked = state.question().map(|question| question.call_id.clone());
        let foreign = self.foreign_ids();
        let is_cancelled =
            |call: &ToolCall| foreign.contains(&call.id) && asked.as_ref() != Some(&call.id);
        let open: Vec<ToolCall> = self.open_calls().into_iter().filter(is_cancelled).collect();
        if open.is_empty() {
            return Ok(());
        }
        self.live
            .stage(open.iter().map(|call| result(call, vec![Part::text(FOREIGN)], true)).collect())
            .await?;
        if asked.is_none() {
            self.stage(|state, _| state.pending = None).await?;
        }
        self.commit().await
    }

    /// The ids of calls in messages that came from elsewhere, as far as they are in memory.
    fn foreign_ids(&self) -> Vec<String> {
        let (history, cleared) = (self.live.history(), self.live.cleared());
        let known = self.live.session().imported;
        let foreign = (0..history.len()).filter(|at| cleared + (*at as u64) < known);
        let messages = foreign.filter_map(|at| history.message(at));
        messages.flat_map(|message| message.calls().map(|call| call.id.clone())).collect()
    }

    /// Answers calls that were begun and have no result; gives those that were not begun.
    pub(super) async fn answer_interrupted(
        &mut self,
        open: Vec<ToolCall>,
    ) -> Result<Vec<ToolCall>, AgentError> {
        let started = self.local()?.started;
        let waiting = self.state()?.pending.map(|waiting| waiting.call_id().to_owned());
        let was_begun =
            |call: &ToolCall| started.contains(&call.id) && waiting.as_ref() != Some(&call.id);
        let (begun, rest): (Vec<ToolCall>, Vec<ToolCall>) = open.into_iter().partition(was_begun);
        if !begun.is_empty() {
            self.live
                .say(begun.iter().map(|call| result(call, vec![Part::text(TEXT)], true)).collect())
                .await?;
        }
        Ok(rest)
    }

    /// Notes which calls are started now, before they are.
    pub(super) async fn note_started(&mut self, calls: &[ToolCall]) -> Result<(), AgentError> {
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        self.change(move |_, local| local.started.clone_from(&ids)).await
    }
}
