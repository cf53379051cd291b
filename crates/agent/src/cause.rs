//! [`Cause`]: the error that a notice is about. It is kept as an error, so that a program can
//! describe it in its own words.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The error that a notice is about. [`Display`](fmt::Display) writes it in English, with what
/// caused it.
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// Returns the error, to look at its type and its sources.
    #[must_use]
    pub fn error(&self) -> &(dyn Error + 'static) {
        self.0.as_ref()
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Cause {
    fn from(error: E) -> Self {
        Self(Arc::new(error))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        for cause in std::iter::successors(self.0.source(), |&error| error.source()) {
            let next = cause.to_string();
            // Some errors repeat their cause in their own text.
            if !text.ends_with(&next) {
                text = format!("{text}: {next}");
            }
        }
        f.write_str(&text)
    }
}

/// Two causes are equal if they read the same.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Cause {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::AgentError;

    #[test]
    fn a_cause_is_the_error_with_what_caused_it() {
        let missing = || waterline_log::LogError::NoSession { id: "s".to_owned() };
        let cause = Cause::from(AgentError::from(missing()));
        assert_eq!(cause, missing().into());
        assert_eq!(cause.to_string(), missing().to_string());
        assert!(cause.error().downcast_ref::<AgentError>().is_some());
    }
}
