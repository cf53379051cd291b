//! Limits on the work of an agent. At a limit the model is asked for a report, and the turn ends.

use std::time::{Duration, Instant};

use crate::reason::EndReason;

/// Maximum number of model calls per turn, unless the user sets another. It stops an agent that
/// runs away; a coding task takes up to a hundred.
const STEPS: usize = 200;

/// The default for policies that reproduce an agent which has its own limit.
const STEPS_OF_POLICY: [(&str, usize); 1] = [("chat", 15)];

/// Limits on the work of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of model calls per turn; the default depends on the policy.
    pub steps: Option<usize>,
    /// Maximum number of model calls since the session was opened, over all turns.
    pub iterations: Option<usize>,
    /// Maximum duration of a turn.
    pub time: Option<Duration>,
}

impl Limits {
    /// Returns the maximum number of model calls per turn in a session with this policy.
    #[must_use]
    pub fn steps_under(&self, policy: &str) -> usize {
        let of_policy = STEPS_OF_POLICY.iter().find(|(name, _)| *name == policy);
        self.steps.unwrap_or_else(|| of_policy.map_or(STEPS, |(_, steps)| *steps))
    }

    /// Returns which limit was reached, if any.
    pub(crate) fn reached(
        &self,
        policy: &str,
        steps: usize,
        iterations: usize,
        started: Instant,
    ) -> Option<EndReason> {
        if steps >= self.steps_under(policy) {
            return Some(EndReason::TurnCalls(steps as u64));
        }
        if let Some(most) = self.iterations.filter(|most| iterations >= *most) {
            return Some(EndReason::SessionCalls(most as u64));
        }
        let exceeded = self.time.filter(|most| started.elapsed() >= *most);
        exceeded.map(EndReason::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limit_of_steps_depends_on_the_policy() {
        let limits = Limits::default();
        assert_eq!((limits.steps_under("auto"), limits.steps_under("chat")), (200, 15));
        let chosen = Limits { steps: Some(40), ..limits };
        assert_eq!((chosen.steps_under("auto"), chosen.steps_under("chat")), (40, 40));
        let reached = chosen.reached("chat", 40, 40, Instant::now());
        assert_eq!(reached, Some(EndReason::TurnCalls(40)));
        assert_eq!(chosen.reached("chat", 39, 39, Instant::now()), None);
    }
}
