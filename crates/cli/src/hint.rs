//! What a user of this program can do about an error of a library. Libraries report the kind and
//! the facts, and name no flag and no command; this file maps kinds to hints.

use std::error::Error;

use waterline_agent::AgentError;
use waterline_config::ConfigError;
use waterline_log::LogError;
use waterline_provider::CallError;
use waterline_session::SessionError;

/// An error with its causes, and what can be done about it.
pub fn with_hint(error: &anyhow::Error) -> String {
    match error.chain().find_map(of_any) {
        Some(hint) => format!("{error:#}; {hint}"),
        None => format!("{error:#}"),
    }
}

fn of_any(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let config = error.downcast_ref().and_then(of_config);
    let agent = || error.downcast_ref().and_then(of_agent);
    let session = || error.downcast_ref().and_then(of_session);
    let log = || error.downcast_ref().and_then(of_log);
    let call = || error.downcast_ref().and_then(of_call);
    config.or_else(agent).or_else(session).or_else(log).or_else(call)
}

fn of_config(error: &ConfigError) -> Option<&'static str> {
    match error {
        ConfigError::NoKey { .. } => {
            Some("for a server of your own, give its address with --base-url")
        }
        ConfigError::NoModel { .. } => Some("name one with --model"),
        ConfigError::NoDataDirectory => Some("name a log with --db"),
        ConfigError::Endpoint(error) => of_call(error),
        ConfigError::Agent(error) => of_agent(error),
        _ => None,
    }
}

fn of_agent(error: &AgentError) -> Option<&'static str> {
    match error {
        AgentError::Session(error) => of_session(error),
        AgentError::Log(error) => of_log(error),
        _ => None,
    }
}

fn of_session(error: &SessionError) -> Option<&'static str> {
    match error {
        SessionError::Log(error) => of_log(error),
        SessionError::Call(error) => of_call(error),
        _ => None,
    }
}

fn of_log(error: &LogError) -> Option<&'static str> {
    match error {
        LogError::NoSession { .. } => Some("`waterline sessions list` shows those there are"),
        LogError::Damaged { .. } => {
            Some("`waterline sessions verify` and `waterline sessions export` do that")
        }
        _ => None,
    }
}

const fn of_call(error: &CallError) -> Option<&'static str> {
    match error {
        CallError::Address => Some("give a key with --key-file or in the environment"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_found_however_deep_its_error_lies() {
        let missing = || LogError::NoSession { id: "s".to_owned() };
        let wrapped: [anyhow::Error; 3] = [
            missing().into(),
            AgentError::from(missing()).into(),
            anyhow::Error::from(ConfigError::from(AgentError::from(SessionError::from(missing()))))
                .context("resume"),
        ];
        for error in wrapped {
            let told = with_hint(&error);
            assert!(
                told.ends_with(
                    "session \"s\" not found; `waterline sessions list` shows those there are"
                ),
                "{told}"
            );
        }
        assert_eq!(with_hint(&anyhow::anyhow!("no")), "no");
    }
}
