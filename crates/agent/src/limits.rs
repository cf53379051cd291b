//! Limits on the work of an agent. At a limit the model is asked for a report, and the turn ends.

use std::time::{Duration, Instant};

use crate::reason::EndReason;

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
    ) -> Option<EndReason> {
        if steps >= self.steps {
            return Some(EndReason::TurnCalls(steps as u64));
        }
        if let Some(most) = self.iterations.filter(|most| iterations >= *most) {
            return Some(EndReason::SessionCalls(most as u64));
        }
        let exceeded = self.time.filter(|most| started.elapsed() >= *most);
        exceeded.map(EndReason::Time)
    }
}
