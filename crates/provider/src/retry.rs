//! Whether a call is worth another try, and when: pure, so that the times can be shown without
//! waiting for them.

use std::time::Duration;

use crate::error::{CallError, Refused};

/// How often, and after how long, a call is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The waits after a rate limit.
    pub rate_limit: Vec<Duration>,
    /// The waits after anything else that may pass.
    pub transient: Vec<Duration>,
    /// No wait is longer than this, whatever the provider asks for.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        let waits = |seconds: [u64; 3]| seconds.map(Duration::from_secs).to_vec();
        Self {
            rate_limit: waits([30, 45, 60]),
            transient: waits([2, 4, 6]),
            longest: Duration::from_secs(300),
        }
    }
}

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RateLimit,
    Transient,
    Final,
}

/// How providers say that an account has nothing left.
const SPENT: [&str; 3] =
    ["insufficient_quota", "billing_hard_limit_reached", "credit balance is too low"];

impl Retry {
    /// How long to wait before the next try, after so many failed ones; nothing where there is
    /// none. `jitter` is a number from 0 to 1: up to a quarter is added, so that many who wait do
    /// not come back together.
    #[must_use]
    pub fn wait(&self, error: &CallError, failed: usize, jitter: f64) -> Option<Duration> {
        let waits = match kind(error) {
            Kind::RateLimit => &self.rate_limit,
            Kind::Transient => &self.transient,
            Kind::Final => return None,
        };
        let planned =
            waits.get(failed.checked_sub(1)?)?.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 4.0);
        let asked = match error {
            CallError::Refused(refused) => asked(refused),
            _ => None,
        };
        match asked {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked),
            None => Some(planned.min(self.longest)),
        }
    }
}

/// What the provider asks for: `retry-after-ms`, or `retry-after` in seconds.
fn asked(refused: &Refused) -> Option<Duration> {
    let number =
        |name: &str| refused.header(name).and_then(|value| value.trim().parse::<f64>().ok());
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1_000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn kind(error: &CallError) -> Kind {
    if error.overflow().is_some() {
        return Kind::Final;
    }
    match error {
        CallError::Refused(refused) => match refused.status {
            // Money that is used up does not come back by waiting.
            429 if SPENT.iter().any(|word| refused.body.contains(word)) => Kind::Final,
            429 => Kind::RateLimit,
            408 | 409 | 500..=599 => Kind::Transient,
            _ => Kind::Final,
        },
        CallError::Malformed { .. }
        | CallError::Address
        | CallError::NoAddress(_)
        | CallError::Key => Kind::Final,
        CallError::Connect { .. }
        | CallError::Silent { .. }
        | CallError::Failed { .. }
        | CallError::Broken { .. } => Kind::Transient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, headers: &[(&str, &str)], body: &str) -> CallError {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        CallError::Refused(Refused { status, headers, body: body.to_owned() })
    }

    fn seconds(error: &CallError) -> Vec<u64> {
        let retry = Retry::default();
        (1..6)
            .map_while(|failed| retry.wait(error, failed, 0.0))
            .map(|wait| wait.as_secs())
            .collect()
    }

    #[test]
    fn rate_limits_wait_long_and_others_short_three_times_at_most() {
        assert_eq!(seconds(&refused(429, &[], "slow down")), [30, 45, 60]);
        assert_eq!(seconds(&refused(529, &[], "overloaded")), [2, 4, 6]);
        let broken = CallError::Broken { text: String::new(), answer: Box::default() };
        assert_eq!(seconds(&broken), [2, 4, 6]);
    }

    #[test]
    fn what_the_provider_asks_for_counts() {
        assert_eq!(seconds(&refused(429, &[("Retry-After", "7")], ""))[0], 7);
        assert_eq!(seconds(&refused(503, &[("retry-after-ms", "1500")], ""))[0], 1);
        assert!(
            seconds(&refused(429, &[("retry-after", "86400")], "")).is_empty(),
            "tomorrow is too late"
        );
        assert_eq!(seconds(&refused(429, &[("retry-after", "soon")], ""))[0], 30);
    }

    #[test]
    fn what_will_not_pass_is_not_tried_again() {
        let spent = r#"{"error":{"code":"insufficient_quota"}}"#;
        assert!(seconds(&refused(429, &[], spent)).is_empty());
        for (status, body) in
            [(400, "bad"), (401, "no key"), (404, "no model"), (400, "prompt is too long: 2 > 1")]
        {
            assert!(seconds(&refused(status, &[], body)).is_empty(), "{status}");
        }
        assert!(
            seconds(&refused(500, &[], "context_length_exceeded")).is_empty(),
            "an overflow is folded, not waited for"
        );
    }

    #[test]
    fn waits_are_spread() {
        let error = refused(500, &[], "");
        let retry = Retry::default();
        assert_eq!(retry.wait(&error, 1, 1.0), Some(Duration::from_millis(2_500)));
        assert_eq!(retry.wait(&error, 0, 0.0), None);
    }
}
