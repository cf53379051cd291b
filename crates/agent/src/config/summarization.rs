//! `summarization`: BeamAI's window middleware, as the policy `dual-track` with the same numbers.

use serde::Deserialize;
use waterline::phrase;
use waterline::policy::Policy;

use super::AgentConfig;
use super::setting::Setting;
use crate::error::AgentError;
use crate::notice::Notice;
use crate::state::BufferConfig;

/// Keeps a window of messages, with an optional summary of the rest.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Summarization(BufferConfig);

impl Setting for Summarization {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.policies.made = Some(policy(&self.0, &mut config.notices)?);
        config.summarization_set = true;
        Ok(())
    }
}

/// Returns the policy for the `buffer_config` in a session's state, which older buffers wrote. The
/// setting `summarization` overrides it.
pub(crate) fn policy_of_buffer(settings: &BufferConfig) -> Result<Policy, AgentError> {
    policy(settings, &mut Vec::new())
}

fn policy(settings: &BufferConfig, notices: &mut Vec<Notice>) -> Result<Policy, AgentError> {
    if settings.preserve_system == Some(false) {
        return Err(AgentError::Setting(phrase!(
            "setting-preserve-system",
            "summarization: preserve_system cannot be false; system messages are always kept"
        )));
    }
    let max_tokens = settings.max_tokens.unwrap_or(4_000);
    let token_threshold = settings.token_threshold.unwrap_or(3_000);
    if token_threshold < max_tokens {
        notices.push(Notice::TokenThreshold { threshold: token_threshold, max: max_tokens });
    }
    let keys = [
        ("window.messages", settings.window_size.unwrap_or(20).to_string()),
        ("window.tokens", max_tokens.to_string()),
        ("fold.messages", settings.compress_threshold.unwrap_or(30).to_string()),
        ("fold.high", token_threshold.to_string()),
        ("summarise.on", settings.summarize.unwrap_or(false).to_string()),
    ];
    let keys: Vec<(String, String)> =
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Policy::preset_with("dual-track", &keys).map_err(|error| AgentError::InvalidSetting {
        place: "summarization".into(),
        cause: error.into(),
    })
}
