//! How much an agent may do before it must report.

use std::time::{Duration, Instant};

/// How much an agent may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Model calls in one turn.
    pub steps: usize,
    /// Model calls since the session was opened, over all turns.
    pub iterations: Option<usize>,
    /// Time of one turn.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 15, iterations: None, time: None }
    }
}

impl Limits {
    /// Why the agent must end, if it must.
    pub(crate) fn reached(
        &self,
        steps: usize,
        iterations: usize,
        since: Instant,
    ) -> Option<String> {
        if steps >= self.steps {
            return Some(format!("the turn took {steps} steps, as many as it may"));
        }
        if let Some(most) = self.iterations.filter(|most| iterations >= *most) {
            return Some(format!(
                "the session took {most} model calls since it was opened, as many as it may"
            ));
        }
        let over = self.time.filter(|most| since.elapsed() >= *most);
        over.map(|most| format!("the turn took longer than the {} s it may", most.as_secs()))
    }
}
