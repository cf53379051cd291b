//! `summarization`: BeamAI's window middleware, as the policy `dual-track` with the same numbers.

use serde::Deserialize;
use serde_json::Value;
use waterline::policy::Policy;

use super::AgentConfig;
use super::setting::Setting;
use crate::error::AgentError;
use crate::notice::Notice;

/// Keeps a window of messages, with an optional summary of the rest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Summarization {
    window_size: u64,
    max_tokens: u64,
    summarize: bool,
    compress_threshold: u64,
    token_threshold: u64,
    /// Accepted for compatibility and must be true: system messages are always kept.
    preserve_system: bool,
}

impl Default for Summarization {
    fn default() -> Self {
        Self {
            window_size: 20,
            max_tokens: 4_000,
            summarize: false,
            compress_threshold: 30,
            token_threshold: 3_000,
            preserve_system: true,
        }
    }
}

impl Setting for Summarization {
    fn apply(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        config.policies.made = Some(self.policy(&mut config.notices)?);
        config.summarization_set = true;
        Ok(())
    }
}

/// Returns the policy for the `buffer_config` in a session's state, which older buffers wrote. The
/// setting `summarization` overrides it.
pub(crate) fn policy_of_buffer(settings: &Value) -> Result<Policy, AgentError> {
    let read: Summarization = serde_json::from_value(settings.clone()).map_err(|error| {
        AgentError::Setting(format!("invalid buffer_config in the session: {error}"))
    })?;
    read.policy(&mut Vec::new())
}

impl Summarization {
    fn policy(&self, notices: &mut Vec<Notice>) -> Result<Policy, AgentError> {
        if !self.preserve_system {
            return Err(AgentError::Setting(
                "summarization: preserve_system cannot be false; system messages are always kept"
                    .to_owned(),
            ));
        }
        if self.token_threshold < self.max_tokens {
            notices.push(Notice::TokenThreshold {
                threshold: self.token_threshold,
                max: self.max_tokens,
            });
        }
        let settings = [
            ("window.messages", self.window_size.to_string()),
            ("window.tokens", self.max_tokens.to_string()),
            ("fold.messages", self.compress_threshold.to_string()),
            ("fold.high", self.token_threshold.to_string()),
            ("summarise.on", self.summarize.to_string()),
        ];
        let settings: Vec<(String, String)> =
            settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let policy = Policy::preset_with("dual-track", &settings);
        policy.map_err(|error| AgentError::Setting(format!("summarization: {error}")))
    }
}
