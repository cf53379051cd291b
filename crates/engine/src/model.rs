//! The model table: what the planner must know of a model. Data, not code: `presets/models.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::tokens::{Counter, Method, Ratio};

const TABLE: &str = include_str!("../presets/models.toml");

static MODELS: LazyLock<Table> = LazyLock::new(|| {
    // The table is part of the program and a test reads it; an unreadable one must still not mean "no limit".
    toml::from_str(TABLE).unwrap_or_else(|_| Table { default: Model::fallback(), model: Vec::new() })
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    default: Model,
    model: Vec<Model>,
}

/// What is known of a model or a family of models.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The beginning of the names it describes.
    #[serde(default)]
    pub prefix: String,
    /// Tokens of prompt and answer together.
    pub window: usize,
    /// Tokens kept free for the answer.
    pub output: usize,
    /// `o200k`, `cl100k` or `estimate`.
    pub tokenizer: String,
    /// For estimates: characters a token.
    #[serde(default = "default_ratio")]
    pub chars_per_token: f64,
    /// Tokens a picture takes.
    #[serde(default = "default_image")]
    pub image: usize,
    /// Price of a prompt token read from the cache, as a share of a fresh one.
    #[serde(default = "one")]
    pub cache_read: f64,
    /// Price of a prompt token written to the cache.
    #[serde(default = "one")]
    pub cache_write: f64,
    /// Prefixes shorter than this are not cached.
    #[serde(default)]
    pub cache_minimum: usize,
    /// Seconds a cached prefix lives; 0 where nobody says.
    #[serde(default)]
    pub cache_life: u64,
    /// Thinking is valid only while everything before it is unchanged.
    #[serde(default)]
    pub preserved_thinking: bool,
    /// The conversation may end with the assistant's own words.
    #[serde(default)]
    pub prefill: bool,
    /// A request may not set the temperature.
    #[serde(default)]
    pub fixed_temperature: bool,
    /// The limit of the answer is called `max_completion_tokens` on OpenAI's chat.
    #[serde(default)]
    pub max_completion_tokens: bool,
    /// System messages may stand in the middle.
    #[serde(default)]
    pub mid_system: bool,
    /// It takes pictures.
    #[serde(default)]
    pub sees: bool,
}

fn default_ratio() -> f64 {
    Ratio::DEFAULT.chars_per_token()
}

const fn default_image() -> usize {
    1_600
}

const fn one() -> f64 {
    1.0
}

impl Model {
    /// What is taken for granted of a model nobody described.
    fn fallback() -> Self {
        Self {
            prefix: String::new(),
            window: 32_768,
            output: 4_096,
            tokenizer: "estimate".into(),
            chars_per_token: default_ratio(),
            image: default_image(),
            cache_read: 1.0,
            cache_write: 1.0,
            cache_minimum: 0,
            cache_life: 0,
            preserved_thinking: false,
            prefill: false,
            fixed_temperature: false,
            max_completion_tokens: false,
            mid_system: false,
            sees: false,
        }
    }

    /// The entry with the longest matching prefix, or `None` for a model nobody described.
    /// Names may carry a vendor in front (`openai/gpt-5`, `us.anthropic.claude-opus-4-6`).
    #[must_use]
    pub fn known(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        let starts = name.char_indices().filter(|(_, c)| matches!(c, '/' | '.')).map(|(at, _)| at + 1);
        let tails: Vec<&str> = std::iter::once(0).chain(starts).filter_map(|start| name.get(start..)).collect();
        let fits = |model: &&Self| tails.iter().any(|tail| tail.starts_with(&model.prefix));
        MODELS.model.iter().filter(fits).max_by_key(|model| model.prefix.len())
    }

    /// The conservative entry for a model nobody described: a real limit, never "no limit".
    #[must_use]
    pub fn unknown() -> &'static Self {
        &MODELS.default
    }

    /// All described families, in the table's order.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        MODELS.model.iter()
    }

    /// Tokens a prompt may take: the window less what is kept for the answer.
    #[must_use]
    pub const fn input_window(&self) -> usize {
        self.window.saturating_sub(self.output)
    }

    /// The counter for this model.
    #[must_use]
    pub fn counter(&self) -> Counter {
        let estimate = Method::Estimate(Ratio::new(self.chars_per_token));
        let method = match self.tokenizer.parse() {
            Ok(Method::Estimate(_)) | Err(_) => estimate,
            Ok(method) => method,
        };
        Counter::new(method, self.image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_reads_and_every_entry_is_sane() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert!(table.model.len() > 20);
        for model in table.model.iter().chain([&table.default]) {
            assert!(model.input_window() >= 2_000, "{}", model.prefix);
            assert!(model.tokenizer.parse::<Method>().is_ok(), "{}", model.prefix);
            assert!((0.0..=2.0).contains(&model.cache_read) && model.cache_read <= model.cache_write);
        }
        assert_eq!(table.default, Model::fallback(), "the built-in fallback says what the table says");
    }

    #[test]
    fn the_longest_prefix_wins_with_or_without_a_vendor() {
        let prefix = |name| Model::known(name).map(|model| model.prefix.as_str());
        assert_eq!(prefix("gpt-4o-mini-2024"), Some("gpt-4o"));
        assert_eq!(prefix("gpt-4-0613"), Some("gpt-4"));
        assert_eq!(prefix("gpt-4.1"), Some("gpt-4.1"));
        assert_eq!(prefix("anthropic/claude-opus-4-6"), Some("claude-opus-4-6"));
        assert_eq!(prefix("us.anthropic.claude-sonnet-4-5-v1:0"), Some("claude-sonnet-4-5"));
        assert_eq!(prefix("qwen/qwen3-32b"), Some("qwen3"));
        assert_eq!(prefix("nobody-knows-me"), None);
        assert_eq!(prefix(""), None);
    }
}
