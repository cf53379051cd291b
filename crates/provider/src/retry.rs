//! Decides whether to retry a failed call, and after how long. Pure, so that tests need not wait.

use std::time::Duration;

use crate::error::{CallError, Refused};

/// The retry schedule: how often and after how long a call is retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The delays after a rate limit.
    pub rate_limit: Vec<Duration>,
    /// The delays after other transient errors.
    pub transient: Vec<Duration>,
    /// The longest delay. If the provider asks for a longer one, the call is not retried.
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        let delays = |seconds: [u64; 3]| seconds.map(Duration::from_secs).to_vec();
        Self {
            rate_limit: delays([30, 45, 60]),
            transient: delays([2, 4, 6]),
            longest: Duration::from_secs(300),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    RateLimit,
    Transient,
    Final,
}

impl Retry {
    /// Returns the delay before the next attempt, after `failed` failed ones; `None` if the call
    /// should not be retried. `jitter` is a number from 0 to 1 and adds up to a quarter, so that
    /// many clients do not retry at the same moment.
    #[must_use]
    pub fn wait(&self, error: &CallError, failed: usize, jitter: f64) -> Option<Duration> {
        let delays = match kind(error) {
            Kind::RateLimit => &self.rate_limit,
            Kind::Transient => &self.transient,
            Kind::Final => return None,
        };
        let planned =
            delays.get(failed.checked_sub(1)?)?.mul_f64(1.0 + jitter.clamp(0.0, 1.0) / 4.0);
        let requested = match error {
            CallError::Refused(refused) => retry_after(refused),
            _ => None,
        };
        match requested {
            Some(delay) if delay > self.longest => None,
            Some(delay) => Some(delay),
            None => Some(planned.min(self.longest)),
        }
    }
}

/// Reads the delay that the provider asks for: `retry-after-ms`, or `retry-after` in seconds.
fn retry_after(refused: &Refused) -> Option<Duration> {
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
            429 if refused.is_quota_exhausted() => Kind::Final,
            429 => Kind::RateLimit,
            // The model may write the call correctly the next time.
            _ if error.is_unparsed_call() => Kind::Transient,
            408 | 409 | 500..=599 => Kind::Transient,
            _ => Kind::Final,
        },
        CallError::NoLogprobs { .. }
        | CallError::NoVectors { .. }
        | CallError::SecretInUrl
        | CallError::InvalidUrl(_)
        | CallError::NoTls { .. }
        | CallError::ExpectsTls { .. }
        | CallError::Certificate { .. }
        | CallError::Key => Kind::Final,
        // A proxy or a gateway may have sent its own page instead of the answer.
        CallError::NotAStream { .. }
        | CallError::Connect { .. }
        | CallError::Timeout { .. }
        | CallError::Failed { .. }
        | CallError::Interrupted { .. } => Kind::Transient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, headers: &[(&str, &str)], body: &str) -> CallError {
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        CallError::Refused(Refused::new(status, headers, body.to_owned()))
    }

    fn seconds(error: &CallError) -> Vec<u64> {
        let retry = Retry::default();
        (1..6)
            .map_while(|failed| retry.wait(error, failed, 0.0))
            .map(|wait| wait.as_secs())
            .collect()
    }

    #[test]
    fn rate_limits_wait_longer_than_other_errors_and_both_retry_three_times() {
        assert_eq!(seconds(&refused(429, &[], "slow down")), [30, 45, 60]);
        assert_eq!(seconds(&refused(529, &[], "overloaded")), [2, 4, 6]);
        let broken = CallError::Interrupted { text: String::new().into(), answer: Box::default() };
        assert_eq!(seconds(&broken), [2, 4, 6]);
        let page = CallError::NotAStream { url: String::new(), body: "<html>".to_owned() };
        assert_eq!(seconds(&page), [2, 4, 6]);
    }

    #[test]
    fn tool_calls_that_a_server_cannot_parse_are_retried() {
        let groq = r#"{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}"#;
        let llama = r#"{"error":{"code":500,"message":"Failed to parse tool call arguments"}}"#;
        for (status, body) in [(400, groq), (500, llama)] {
            let error = refused(status, &[], body);
            assert!(error.is_unparsed_call(), "{body}");
            assert_eq!(seconds(&error), [2, 4, 6], "{body}");
        }
        assert!(!refused(500, &[], "out of memory").is_unparsed_call());
        assert!(!refused(404, &[], "tool_use_failed").is_unparsed_call());
    }

    #[test]
    fn retry_after_header_sets_the_delay() {
        assert_eq!(seconds(&refused(429, &[("Retry-After", "7")], ""))[0], 7);
        assert_eq!(seconds(&refused(503, &[("retry-after-ms", "1500")], ""))[0], 1);
        assert!(
            seconds(&refused(429, &[("retry-after", "86400")], "")).is_empty(),
            "a delay of a day is not retried"
        );
        assert_eq!(seconds(&refused(429, &[("retry-after", "soon")], ""))[0], 30);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let spent = r#"{"error":{"code":"insufficient_quota"}}"#;
        assert!(seconds(&refused(429, &[], spent)).is_empty());
        for (status, body) in
            [(400, "bad"), (401, "no key"), (404, "no model"), (400, "prompt is too long: 2 > 1")]
        {
            assert!(seconds(&refused(status, &[], body)).is_empty(), "{status}");
        }
        assert!(
            seconds(&refused(500, &[], "context_length_exceeded")).is_empty(),
            "an overflow is folded, not retried"
        );
    }

    #[test]
    fn jitter_adds_up_to_a_quarter() {
        let error = refused(500, &[], "");
        let retry = Retry::default();
        assert_eq!(retry.wait(&error, 1, 1.0), Some(Duration::from_millis(2_500)));
        assert_eq!(retry.wait(&error, 0, 0.0), None);
    }
}
