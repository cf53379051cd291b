//! Calls that have no result and are not to be run. Those that were begun when the program ended are answered as interrupted, never
//! run again blindly: which were begun is in the state, written before they began. Those that came with an imported conversation are
//! answered as cancelled: nobody here had them made.

use serde_json::Value;
use waterline::message::{Part, ToolCall};
use waterline_log::{State, kept};

use crate::agent::Agent;
use crate::error::AgentError;
use crate::outcome::Waiting;
use crate::tools::result;

/// Whether the newest answer is only a piece.
pub(crate) fn is_cut(state: &State) -> bool {
    state.other.contains_key(kept::CUT)
}

/// Notes whether the newest answer is only a piece.
pub(crate) fn note_cut(state: &mut State, is_cut: bool) {
    match is_cut {
        true => drop(state.other.insert(kept::CUT.to_owned(), Value::Bool(true))),
        false => drop(state.other.remove(kept::CUT)),
    }
}

/// The calls that were begun, by their ids.
pub(crate) fn started(state: &State) -> Vec<String> {
    match state.other.get(kept::STARTED) {
        Some(Value::Array(ids)) => ids.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

const TEXT: &str = "[interrupted: the program ended while this ran; whether it took effect is not known. Look before you do it again.]";

/// What a call is answered with that came from elsewhere.
const FOREIGN: &str = "[cancelled: this call came with an imported conversation and was not run here. Make it again if it is still wanted.]";

impl Agent {
    /// Answers calls that came with an imported conversation, before somebody goes on with it: whoever wrote that file must not have
    /// them run here. A question that waits does nothing, and stays.
    pub(crate) async fn cancel_foreign(&mut self) -> Result<(), AgentError> {
        let asked = match Waiting::of(self.state()) {
            Some(Waiting::Question(question)) => Some(question.call_id),
            Some(Waiting::Approval(_)) | None => None,
        };
        let foreign = self.foreign_ids();
        let is_cancelled = |call: &ToolCall| foreign.contains(&call.id) && asked.as_ref() != Some(&call.id);
        let open: Vec<ToolCall> = self.open_calls().into_iter().filter(is_cancelled).collect();
        for call in &open {
            self.live.say(vec![result(call, vec![Part::text(FOREIGN)], true)]).await?;
        }
        if !open.is_empty() && asked.is_none() && !self.state().pending_action.is_null() {
            self.live.change(|session| session.state.pending_action = Value::Null).await?;
        }
        Ok(())
    }

    /// The ids of calls in messages that came from elsewhere, as far as they are in memory.
    fn foreign_ids(&self) -> Vec<String> {
        let (history, cleared, known) = (self.live.history(), self.live.cleared(), self.state().elsewhere());
        let foreign = (0..history.len()).filter(|at| cleared + (*at as u64) < known);
        let messages = foreign.filter_map(|at| history.message(at));
        messages.flat_map(|message| message.calls().map(|call| call.id.clone())).collect()
    }

    /// Answers calls that were begun and have no result; gives those that were not begun.
    pub(crate) async fn answer_interrupted(&mut self, open: Vec<ToolCall>) -> Result<Vec<ToolCall>, AgentError> {
        let started = started(self.state());
        let waiting = Waiting::of(self.state()).map(|waiting| waiting.call_id().to_owned());
        let was_begun = |call: &ToolCall| started.contains(&call.id) && waiting.as_ref() != Some(&call.id);
        let (begun, rest): (Vec<ToolCall>, Vec<ToolCall>) = open.into_iter().partition(was_begun);
        for call in &begun {
            self.live.say(vec![result(call, vec![Part::text(TEXT)], true)]).await?;
        }
        Ok(rest)
    }

    /// Forgets which calls were begun: they have their results.
    pub(crate) async fn forget_started(&mut self) -> Result<(), AgentError> {
        if self.state().other.contains_key(kept::STARTED) {
            self.live.change(|session| drop(session.state.other.remove(kept::STARTED))).await?;
        }
        Ok(())
    }

    /// Notes which calls are begun now.
    pub(crate) async fn note_started(&mut self, calls: &[ToolCall]) -> Result<(), AgentError> {
        let ids: Vec<Value> = calls.iter().map(|call| Value::from(call.id.as_str())).collect();
        self.live
            .change(|session| drop(session.state.other.insert(kept::STARTED.to_owned(), Value::Array(ids))))
            .await?;
        Ok(())
    }
}
