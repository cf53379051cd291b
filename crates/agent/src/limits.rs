//! Limits on the work of an agent. At a limit the model is asked for a report, and the turn ends.

use std::time::{Duration, Instant};

/// Limits on the work of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of model calls per turn.
    pub steps: usize,
    /// Maximum number of model calls since the session was opened, over all turns.
    pub iterations: Option<usize>,
    /// Maximum duration of a turn.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 15, iterations: None, time: None }
    }
}

impl Limits {
    /// Returns which limit was reached, if any.
    pub(crate) fn reached(
        &self,
        steps: usize,
        iterations: usize,
        started: Instant,
    ) -> Option<String> {
        if steps >= self.steps {
            let unit = if steps == 1 { "model call" } else { "model calls" };
            return Some(format!("the limit of {steps} {unit} per turn was reached"));
        }
        if let Some(most) = self.iterations.filter(|most| iterations >= *most) {
            return Some(format!(
                "the session reached its limit of model calls since it was opened ({most})"
            ));
        }
        let exceeded = self.time.filter(|most| started.elapsed() >= *most);
        exceeded.map(|most| format!("the time limit of {} s per turn was reached", most.as_secs()))
    }
}
