//! Calls that were begun and have no result: the program ended while they ran. They are answered as interrupted, never run again
//! blindly. Which were begun is in the state, written before they began.

use serde_json::Value;
use waterline::message::{Call, Part};
use waterline_log::State;

use crate::agent::Agent;
use crate::error::AgentError;
use crate::outcome::Waiting;
use crate::tools::result;

/// Where the state keeps the calls that were begun.
const STARTED: &str = "started";

/// Where the state says that the newest answer was cut and is to be gone on with.
const CUT: &str = "cut";

/// Whether the newest answer is only a piece.
pub(crate) fn is_cut(state: &State) -> bool {
    state.other.contains_key(CUT)
}

/// Notes whether the newest answer is only a piece.
pub(crate) fn note_cut(state: &mut State, is_cut: bool) {
    match is_cut {
        true => drop(state.other.insert(CUT.to_owned(), Value::Bool(true))),
        false => drop(state.other.remove(CUT)),
    }
}

/// The calls that were begun, by their ids.
pub(crate) fn started(state: &State) -> Vec<String> {
    match state.other.get(STARTED) {
        Some(Value::Array(ids)) => ids.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

const TEXT: &str = "[interrupted: the program ended while this ran; whether it took effect is not known. Look before you do it again.]";

impl Agent {
    /// Answers calls that were begun and have no result; gives those that were not begun.
    pub(crate) async fn answer_interrupted(&mut self, open: Vec<Call>) -> Result<Vec<Call>, AgentError> {
        let started = started(self.state());
        let waiting = Waiting::of(self.state()).map(|waiting| waiting.call_id().to_owned());
        let was_begun = |call: &Call| started.contains(&call.id) && waiting.as_ref() != Some(&call.id);
        let (begun, rest): (Vec<Call>, Vec<Call>) = open.into_iter().partition(was_begun);
        for call in &begun {
            self.live.say(vec![result(call, vec![Part::text(TEXT)], true)]).await?;
        }
        Ok(rest)
    }

    /// Forgets which calls were begun: they have their results.
    pub(crate) async fn forget_started(&mut self) -> Result<(), AgentError> {
        if self.state().other.contains_key(STARTED) {
            self.live.change(|session| drop(session.state.other.remove(STARTED))).await?;
        }
        Ok(())
    }

    /// Notes which calls are begun now.
    pub(crate) async fn note_started(&mut self, calls: &[Call]) -> Result<(), AgentError> {
        let ids: Vec<Value> = calls.iter().map(|call| Value::from(call.id.as_str())).collect();
        self.live.change(|session| drop(session.state.other.insert(STARTED.to_owned(), Value::Array(ids)))).await?;
        Ok(())
    }
}
