//! The `[recall]` section: settings of search by meaning.

use serde::Deserialize;

use crate::error::{ConfigError, whole_up_to};

/// How long search may wait for the vector of a question, in milliseconds, unless it is set.
pub(crate) const TIMEOUT: u64 = 50;

/// The largest `encoder_timeout`.
const MAX_TIMEOUT: u64 = 60_000;

/// Settings of search by meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecallSettings {
    /// The preferred encoder: the name of one that was added, or the base URL of a server with
    /// `/v1/embeddings`. By default the best one that was added.
    pub encoder: Option<String>,
    /// The model of that server.
    pub model: Option<String>,
    /// The environment variable that holds the API key of that server. By default
    /// `WATERLINE_API_KEY`, or `OPENAI_API_KEY` for OpenAI's own address.
    pub key_env: Option<String>,
    /// Milliseconds that search waits for the encoder before it uses keywords alone.
    pub encoder_timeout: Option<u64>,
}

impl RecallSettings {
    /// Returns these settings overridden by newer ones.
    pub(crate) fn merge(self, newer: Self) -> Self {
        Self {
            encoder: newer.encoder.or(self.encoder),
            model: newer.model.or(self.model),
            key_env: newer.key_env.or(self.key_env),
            encoder_timeout: newer.encoder_timeout.or(self.encoder_timeout),
        }
    }

    /// Rejects values out of range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.encoder_timeout {
            Some(timeout) if !(1..=MAX_TIMEOUT).contains(&timeout) => Err(ConfigError::range(
                "recall.encoder_timeout".to_owned(),
                timeout,
                whole_up_to(MAX_TIMEOUT),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the address of the server, if the encoder is one.
    pub(crate) fn server(&self) -> Option<&str> {
        let is_address = |name: &&str| name.starts_with("http://") || name.starts_with("https://");
        self.encoder.as_deref().filter(is_address)
    }
}

/// Renames `timeout`, which `encoder_timeout` was called before, in the table of a config file.
/// Policies have a `recall.timeout` of their own. A setting under its new name wins.
pub(crate) fn rename(table: &mut toml::Table) {
    let section = table.get_mut("recall").and_then(toml::Value::as_table_mut);
    if let Some(section) = section
        && let Some(value) = section.remove("timeout")
    {
        section.entry("encoder_timeout").or_insert(value);
    }
}
