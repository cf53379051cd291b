//! Errors as a person reads them: in the chosen language, with their causes and what to do next.
//!
//! The libraries' errors display themselves in English and name no flag and no command. One file
//! per library gives each of their variants a text from the catalog, which may name both.

mod agent;
mod config;
mod encoder;
mod log;
mod memory;
mod policy;
mod provider;
mod sandbox;
mod session;
mod syntax;
mod system;
mod transcript;
pub mod usage;

use std::error::Error;
use std::sync::Arc;

pub use encoder::{describe_add, describe_encode, describe_open};
pub use memory::describe as describe_note;
pub use sandbox::unsupported;
pub use syntax::{json_error, toml_error};

use waterline_agent::Cause;
use waterline_config::ConfigError;
use waterline_provider::CallError;

use crate::foreign::foreign;
use crate::phrase::phrase;
use crate::text;

/// Returns the text of an error with its causes, outermost first. Unusual errors of other libraries
/// keep their own text.
pub fn describe(error: &anyhow::Error) -> String {
    describe_error(error.as_ref())
}

/// Returns the text of the error that a notice is about.
pub fn describe_cause(cause: &Cause) -> String {
    describe_error(cause.error())
}

/// Returns the text of an error with its causes, outermost first.
pub fn describe_error(error: &(dyn Error + 'static)) -> String {
    let mut shown = String::new();
    for cause in std::iter::successors(Some(error), |&error| error.source()) {
        let next = known(cause).unwrap_or_else(|| foreign(&cause.to_string()));
        // Some errors have their cause in their own text.
        if shown.is_empty() {
            shown = next;
        } else if !shown.contains(&next) {
            shown = text!("error-with-cause", error = shown, cause = next);
        }
    }
    shown
}

/// Returns the text of an error of a model call.
pub fn describe_call(error: &CallError) -> String {
    provider::describe(error).unwrap_or_else(|| error.to_string())
}

/// Returns the text of an error of one of our libraries, or of a common error of another library.
fn known(error: &(dyn Error + 'static)) -> Option<String> {
    // Errors that contain errors keep them in boxes or share them.
    if let Some(inner) = error.downcast_ref::<Box<ConfigError>>() {
        return known(inner.as_ref());
    }
    if let Some(inner) = error.downcast_ref::<Arc<std::io::Error>>() {
        return known(inner.as_ref());
    }
    error
        .downcast_ref()
        .and_then(config::describe)
        .or_else(|| error.downcast_ref().and_then(agent::describe))
        .or_else(|| error.downcast_ref().and_then(session::describe))
        .or_else(|| error.downcast_ref().and_then(log::describe))
        .or_else(|| error.downcast_ref().and_then(provider::describe))
        .or_else(|| error.downcast_ref().and_then(policy::describe))
        .or_else(|| error.downcast_ref().and_then(sandbox::describe))
        .or_else(|| error.downcast_ref().and_then(transcript::describe))
        .or_else(|| error.downcast_ref().map(phrase))
        .or_else(|| error.downcast_ref().map(provider::unknown_wire))
        .or_else(|| error.downcast_ref().map(sandbox::invalid_host))
        .or_else(|| error.downcast_ref().map(sandbox::no_directory))
        .or_else(|| error.downcast_ref().map(system::io_error))
        .or_else(|| error.downcast_ref().map(syntax::json_error))
        .or_else(|| error.downcast_ref().map(syntax::toml_file_error))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::path::PathBuf;

    use waterline_agent::AgentError;
    use waterline_log::LogError;
    use waterline_session::SessionError;

    use super::*;

    #[test]
    fn a_wrapped_error_is_described_with_what_to_do_next() {
        let missing = || LogError::NoSession { id: "s".to_owned() };
        let wrapped: [anyhow::Error; 3] = [
            missing().into(),
            AgentError::from(missing()).into(),
            anyhow::Error::from(ConfigError::from(AgentError::from(SessionError::from(missing()))))
                .context("resume"),
        ];
        for error in wrapped {
            let shown = describe(&error);
            let expected = text!("error-log-no-session", id = "s");
            assert!(shown.ends_with(&expected), "{shown}");
            assert!(shown.contains("waterline sessions list"), "{shown}");
        }
        assert_eq!(describe(&anyhow::anyhow!("no")), "no");
    }

    #[test]
    fn causes_follow_once() {
        let denied = || std::io::Error::from(ErrorKind::PermissionDenied);
        let file = ConfigError::KeyFile { path: PathBuf::from("key.txt"), source: denied() };
        let shown = describe(&file.into());
        assert!(shown.contains("key.txt") && shown.ends_with(&denied().to_string()), "{shown}");
        let file = LogError::File { path: PathBuf::from("out"), source: Arc::new(denied()) };
        let shown = describe(&file.into());
        assert_eq!(shown.matches(&denied().to_string()).count(), 1, "{shown}");
    }
}
