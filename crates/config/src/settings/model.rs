//! The settings of one model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use waterline::message::Wire;
use waterline::model::ModelEntry;

use crate::error::{ConfigError, at_least};
use crate::prices::PriceSetting;
use crate::tokenizer::Tokenizer;

/// Settings of one model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSettings {
    /// The base URL of the model's server.
    pub base_url: Option<String>,
    /// The wire format that the server uses.
    #[serde(default, deserialize_with = "wire")]
    pub wire: Option<Wire>,
    /// The environment variable that holds the API key.
    pub key_env: Option<String>,
    /// The file that holds the API key.
    pub key_file: Option<PathBuf>,
    /// Maximum number of tokens in a prompt.
    pub window: Option<usize>,
    /// Tokens reserved for the answer.
    pub output: Option<usize>,
    /// Characters per token, if tokens are estimated.
    pub chars_per_token: Option<f64>,
    /// Whether the model accepts images.
    pub images: Option<bool>,
    /// Tokens per image.
    pub image_tokens: Option<usize>,
    /// Price of a prompt token read from the cache, relative to an uncached one.
    pub cache_read: Option<f64>,
    /// Price of a prompt token written to the cache, relative to an uncached one.
    pub cache_write: Option<f64>,
    /// Prompts shorter than this are not cached.
    pub cache_minimum: Option<usize>,
    /// Seconds for which a cached prompt is kept.
    pub cache_life: Option<u64>,
    /// Whether the limit of the answer is sent as `max_completion_tokens` on the wire
    /// `openai-chat`.
    pub max_completion_tokens: Option<bool>,
    /// Whether the server takes `prompt_cache_key`, the key under which it caches prompts. By
    /// default only OpenAI's own server is sent one.
    pub prompt_cache_key: Option<bool>,
    /// How tokens are counted: `o200k`, `cl100k`, `estimate` or `tiktoken`.
    pub tokenizer: Option<Tokenizer>,
    /// The price of a million prompt tokens, or all prices: `{ input = 3.0, cached = 0.3, written =
    /// 3.75, output = 15.0 }`. By default that of the price table.
    pub price: Option<PriceSetting>,
    /// Seconds to wait for the first token of an answer. By default that of the whole config.
    pub first_token_timeout: Option<u64>,
    /// Seconds without data after which an answer counts as interrupted. By default that of the
    /// whole config.
    pub silence_timeout: Option<u64>,
    /// The policy for this model.
    pub policy: Option<String>,
    /// Keys of the policy to change for this model: `"fold.high" = 90000`.
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// Whether `base_url` comes from the project's file. No key is sent to such an address unless
    /// the user passes one for it.
    #[serde(skip)]
    pub is_untrusted: bool,
}

impl ModelSettings {
    /// Returns these settings overridden by newer ones.
    pub(super) fn merge(mut self, newer: Self) -> Self {
        self.set.extend(newer.set);
        Self {
            is_untrusted: if newer.base_url.is_some() {
                newer.is_untrusted
            } else {
                self.is_untrusted
            },
            base_url: newer.base_url.or(self.base_url),
            wire: newer.wire.or(self.wire),
            key_env: newer.key_env.or(self.key_env),
            key_file: newer.key_file.or(self.key_file),
            window: newer.window.or(self.window),
            output: newer.output.or(self.output),
            chars_per_token: newer.chars_per_token.or(self.chars_per_token),
            images: newer.images.or(self.images),
            image_tokens: newer.image_tokens.or(self.image_tokens),
            cache_read: newer.cache_read.or(self.cache_read),
            cache_write: newer.cache_write.or(self.cache_write),
            cache_minimum: newer.cache_minimum.or(self.cache_minimum),
            cache_life: newer.cache_life.or(self.cache_life),
            max_completion_tokens: newer.max_completion_tokens.or(self.max_completion_tokens),
            prompt_cache_key: newer.prompt_cache_key.or(self.prompt_cache_key),
            tokenizer: newer.tokenizer.or(self.tokenizer),
            price: newer.price.or(self.price),
            first_token_timeout: newer.first_token_timeout.or(self.first_token_timeout),
            silence_timeout: newer.silence_timeout.or(self.silence_timeout),
            policy: newer.policy.or(self.policy),
            set: self.set,
        }
    }

    /// Returns the model's own properties as a catalog entry. The window is not among them: here
    /// it limits the prompt, in the catalog it includes the answer.
    pub(crate) fn entry(&self, name: &str) -> ModelEntry {
        let mut entry = ModelEntry::new(name);
        entry.tokenizer = self.tokenizer.map(|tokenizer| tokenizer.method(name));
        entry.output = self.output;
        entry.chars_per_token = self.chars_per_token;
        entry.images = self.images;
        entry.image_tokens = self.image_tokens;
        entry.cache_read = self.cache_read;
        entry.cache_write = self.cache_write;
        entry.cache_minimum = self.cache_minimum;
        entry.cache_life = self.cache_life;
        entry.max_completion_tokens = self.max_completion_tokens;
        entry
    }

    /// Rejects values that no model can have.
    pub(super) fn check(&self, name: &str) -> Result<(), ConfigError> {
        if self.window == Some(0) {
            return Err(ConfigError::range(format!("models.{name}.window"), 0, at_least(1)));
        }
        let numbers = [
            ("chars_per_token", self.chars_per_token),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
        ];
        let is_invalid = |number: &f64| !number.is_finite() || *number < 0.0;
        for (key, number) in numbers {
            if let Some(invalid) = number.filter(is_invalid) {
                return Err(ConfigError::range(
                    format!("models.{name}.{key}"),
                    invalid,
                    at_least(0),
                ));
            }
        }
        if let Some(price) = &self.price {
            price.check(&format!("models.{name}.price"))?;
        }
        check_timeouts(&format!("models.{name}."), self.first_token_timeout, self.silence_timeout)
    }
}

/// Rejects a timeout of 0 seconds: it would end every call.
pub(super) fn check_timeouts(
    section: &str,
    first_token: Option<u64>,
    silence: Option<u64>,
) -> Result<(), ConfigError> {
    for (key, seconds) in [("first_token_timeout", first_token), ("silence_timeout", silence)] {
        if seconds == Some(0) {
            return Err(ConfigError::range(format!("{section}{key}"), 0, at_least(1)));
        }
    }
    Ok(())
}

fn wire<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Wire>, D::Error> {
    let name = String::deserialize(deserializer)?;
    waterline_provider::wire::named(&name).map(Some).map_err(serde::de::Error::custom)
}
