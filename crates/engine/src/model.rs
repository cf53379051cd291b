//! Models: what the planner needs to know about one, and the catalog in which they are looked up.
//! The catalog is the built-in table (`presets/models.toml`) and the entries that a user adds,
//! which take precedence.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::tokens::{Counter, Method, Ratio};

/// The tokens reserved for the answer of an unknown model.
const ASSUMED_OUTPUT: usize = 4_096;

const TABLE: &str = include_str!("../presets/models.toml");

static BUILTIN: LazyLock<Models> = LazyLock::new(|| {
    // The table is compiled in and a test parses it. If it cannot be parsed, there must still be a
    // limit.
    let table = toml::from_str(TABLE)
        .unwrap_or_else(|_| Table { default: Model::new(""), model: Vec::new() });
    Models {
        added: Vec::new(),
        builtin: table.model.into_iter().map(Arc::new).collect(),
        fallback: Arc::new(table.default),
    }
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    default: Model,
    model: Vec<Model>,
}

/// A model or a family of models.
///
/// [`Model::new`] creates a conservative entry whose fields can be changed afterwards.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Model {
    /// The prefix of the model names that it describes.
    #[serde(default)]
    pub prefix: String,
    /// Maximum number of tokens of prompt and answer together.
    pub window: usize,
    /// The tokens reserved for the answer.
    pub output: usize,
    /// Whether `output` is only an assumption, because nothing says how long an answer may be.
    #[serde(default)]
    pub output_is_assumed: bool,
    /// How tokens are counted.
    pub tokenizer: Method,
    /// The characters per token, for estimates.
    #[serde(default = "default_ratio")]
    pub chars_per_token: f64,
    /// The tokens of one image.
    #[serde(default = "default_image_tokens")]
    pub image_tokens: usize,
    /// The price of a prompt token read from the cache, relative to an uncached one.
    #[serde(default = "one")]
    pub cache_read: f64,
    /// The price of a prompt token written to the cache, relative to an uncached one.
    #[serde(default = "one")]
    pub cache_write: f64,
    /// The minimum number of tokens for a prefix to be cached.
    #[serde(default)]
    pub cache_minimum: usize,
    /// The seconds for which a cached prefix is kept; 0 if unknown.
    #[serde(default)]
    pub cache_life: u64,
    /// Whether thinking is valid only while everything before it is unchanged.
    #[serde(default)]
    pub thinking_needs_prefix: bool,
    /// Whether a request must not set the temperature.
    #[serde(default)]
    pub fixed_temperature: bool,
    /// Whether the token limit of the answer is called `max_completion_tokens` on OpenAI's chat
    /// wire.
    #[serde(default)]
    pub max_completion_tokens: bool,
    /// Whether it accepts images.
    #[serde(default)]
    pub images: bool,
}

fn default_ratio() -> f64 {
    Ratio::DEFAULT.chars_per_token()
}

const fn default_image_tokens() -> usize {
    1_600
}

const fn one() -> f64 {
    1.0
}

impl Model {
    /// Creates an entry for an unknown model: conservative estimates, a small window, no images, no
    /// cache.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            window: 32_768,
            output: ASSUMED_OUTPUT,
            output_is_assumed: true,
            tokenizer: Method::Estimate(Ratio::DEFAULT),
            chars_per_token: default_ratio(),
            image_tokens: default_image_tokens(),
            cache_read: 1.0,
            cache_write: 1.0,
            cache_minimum: 0,
            cache_life: 0,
            thinking_needs_prefix: false,
            fixed_temperature: false,
            max_completion_tokens: false,
            images: false,
        }
    }

    /// Returns the maximum number of tokens of a prompt: the window less the tokens reserved for
    /// the answer.
    #[must_use]
    pub const fn input_window(&self) -> usize {
        self.window.saturating_sub(self.output)
    }

    /// Returns the longest answer to ask for: the tokens reserved for it, or `None` if they are
    /// only assumed.
    #[must_use]
    pub const fn output_limit(&self) -> Option<usize> {
        match self.output_is_assumed && self.output == ASSUMED_OUTPUT {
            true => None,
            false => Some(self.output),
        }
    }

    /// Returns the token counter for this model.
    #[must_use]
    pub fn counter(&self) -> Counter {
        let method = match self.tokenizer {
            Method::Estimate(_) => Method::Estimate(Ratio::new(self.chars_per_token)),
            exact => exact,
        };
        Counter::new(method, self.image_tokens)
    }
}

/// A model entry from the user's config. Fields that are not set are taken from the entry that
/// would describe the model otherwise.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ModelEntry {
    /// The prefix of the model names that it describes, usually a whole name.
    pub name: String,
    /// See [`Model::window`].
    pub window: Option<usize>,
    /// See [`Model::output`].
    pub output: Option<usize>,
    /// See [`Model::tokenizer`].
    pub tokenizer: Option<Method>,
    /// See [`Model::chars_per_token`].
    pub chars_per_token: Option<f64>,
    /// See [`Model::images`].
    pub images: Option<bool>,
    /// See [`Model::image_tokens`].
    pub image_tokens: Option<usize>,
    /// See [`Model::cache_read`].
    pub cache_read: Option<f64>,
    /// See [`Model::cache_write`].
    pub cache_write: Option<f64>,
    /// See [`Model::cache_minimum`].
    pub cache_minimum: Option<usize>,
    /// See [`Model::cache_life`].
    pub cache_life: Option<u64>,
    /// See [`Model::max_completion_tokens`].
    pub max_completion_tokens: Option<bool>,
}

impl ModelEntry {
    /// Creates an entry in which no field is set.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    fn over(self, base: &Model) -> Model {
        // At most half of a small window is reserved for the answer, so that there is space for a
        // prompt.
        let window = self.window.unwrap_or(base.window);
        let output = self.output.unwrap_or_else(|| base.output.min(window / 2));
        Model {
            prefix: self.name.to_ascii_lowercase(),
            window,
            output,
            output_is_assumed: self.output.is_none() && base.output_is_assumed,
            tokenizer: self.tokenizer.unwrap_or(base.tokenizer),
            chars_per_token: self.chars_per_token.unwrap_or(base.chars_per_token),
            image_tokens: self.image_tokens.unwrap_or(base.image_tokens),
            cache_read: self.cache_read.unwrap_or(base.cache_read),
            cache_write: self.cache_write.unwrap_or(base.cache_write),
            cache_minimum: self.cache_minimum.unwrap_or(base.cache_minimum),
            cache_life: self.cache_life.unwrap_or(base.cache_life),
            images: self.images.unwrap_or(base.images),
            thinking_needs_prefix: base.thinking_needs_prefix,
            fixed_temperature: base.fixed_temperature,
            max_completion_tokens: self.max_completion_tokens.unwrap_or(base.max_completion_tokens),
        }
    }
}

/// A catalog of models. Cloning it is cheap.
///
/// ```
/// use waterline::{ModelEntry, Models};
///
/// let mut entry = ModelEntry::new("my-coder");
/// entry.window = Some(65_536);
/// entry.images = Some(true);
/// let models = Models::builtin().with([entry]);
/// assert!(models.find("my-coder-7b").is_some_and(|model| model.images));
/// assert!(models.find("gpt-4o").is_some());
/// assert!(models.find("something-else").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Models {
    added: Vec<Arc<Model>>,
    builtin: Arc<[Arc<Model>]>,
    fallback: Arc<Model>,
}

impl Default for Models {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Models {
    /// Returns the built-in catalog.
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// Adds entries. They take precedence over the built-in ones, and later ones over earlier ones
    /// with the same name.
    #[must_use]
    pub fn with(mut self, entries: impl IntoIterator<Item = ModelEntry>) -> Self {
        for entry in entries.into_iter().filter(|entry| !entry.name.is_empty()) {
            let base = self.resolve(&entry.name);
            self = self.with_model(entry.over(&base));
        }
        self
    }

    /// Changes how the tokens of every entry are counted, the default for unknown models included.
    #[must_use]
    pub fn counted_by(mut self, method: impl Fn(&Model) -> Method) -> Self {
        let counted = |model: &Arc<Model>| match method(model) {
            tokenizer if tokenizer == model.tokenizer => Arc::clone(model),
            tokenizer => Arc::new(Model { tokenizer, ..Model::clone(model) }),
        };
        self.added = self.added.iter().map(counted).collect();
        self.builtin = self.builtin.iter().map(counted).collect();
        self.fallback = counted(&self.fallback);
        self
    }

    /// Adds a complete entry.
    #[must_use]
    pub fn with_model(mut self, model: Model) -> Self {
        self.added.retain(|known| known.prefix != model.prefix);
        self.added.push(Arc::new(model));
        self
    }

    /// Returns the entry with the longest matching prefix. Added entries take precedence over the
    /// built-in ones. A name may start with a vendor (`openai/gpt-5`,
    /// `us.anthropic.claude-opus-4-6`).
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Model>> {
        let name = name.to_ascii_lowercase();
        let starts =
            name.char_indices().filter(|(_, c)| matches!(c, '/' | '.')).map(|(at, _)| at + 1);
        let tails: Vec<&str> =
            std::iter::once(0).chain(starts).filter_map(|start| name.get(start..)).collect();
        let fits = |model: &&Arc<Model>| tails.iter().any(|tail| tail.starts_with(&model.prefix));
        let longest = |models: &[Arc<Model>]| {
            models.iter().filter(fits).max_by_key(|model| model.prefix.len()).cloned()
        };
        longest(&self.added).or_else(|| longest(&self.builtin))
    }

    /// Returns the entry of a model, or the conservative default for an unknown one. There is
    /// always a limit.
    #[must_use]
    pub fn resolve(&self, name: &str) -> Arc<Model> {
        self.find(name).unwrap_or_else(|| self.unknown())
    }

    /// Returns the conservative default for an unknown model.
    #[must_use]
    pub fn unknown(&self) -> Arc<Model> {
        Arc::clone(&self.fallback)
    }

    /// Returns all entries, the added ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.added.iter().chain(self.builtin.iter()).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_parses_and_every_entry_is_sane() {
        let table: Table = toml::from_str(TABLE).unwrap();
        assert!(table.model.len() > 20);
        for model in table.model.iter().chain([&table.default]) {
            assert!(model.input_window() >= 2_000, "{}", model.prefix);
            assert!(
                (0.0..=2.0).contains(&model.cache_read) && model.cache_read <= model.cache_write
            );
        }
        assert_eq!(
            table.default,
            Model::new(""),
            "the fallback in code equals the default of the table"
        );
    }

    #[test]
    fn the_longest_prefix_wins_with_or_without_a_vendor() {
        let prefix = |name| Models::builtin().find(name).map(|model| model.prefix.clone());
        assert_eq!(prefix("gpt-4o-mini-2024").as_deref(), Some("gpt-4o"));
        assert_eq!(prefix("gpt-4-0613").as_deref(), Some("gpt-4"));
        assert_eq!(prefix("gpt-4.1").as_deref(), Some("gpt-4.1"));
        assert_eq!(prefix("anthropic/claude-opus-4-6").as_deref(), Some("claude-opus-4-6"));
        assert_eq!(
            prefix("us.anthropic.claude-sonnet-4-5-v1:0").as_deref(),
            Some("claude-sonnet-4-5")
        );
        assert_eq!(prefix("qwen/qwen3-32b").as_deref(), Some("qwen3"));
        assert_eq!(prefix("unheard-of-model"), None);
        assert_eq!(prefix(""), None);
    }

    #[test]
    fn user_entries_take_precedence_and_inherit_the_rest() {
        let mut narrow = ModelEntry::new("GPT-4o");
        narrow.window = Some(20_000);
        let mut own = ModelEntry::new("my-coder");
        own.tokenizer = Some(Method::Cl100k);
        own.images = Some(true);
        let models = Models::builtin().with([narrow, own]);
        let narrow = models.resolve("openai/gpt-4o-mini");
        assert_eq!(
            (narrow.window, narrow.output),
            (20_000, 10_000),
            "the reserve for the answer leaves space for a prompt"
        );
        assert_eq!(narrow.tokenizer, Method::O200k);
        assert!(narrow.images);
        let own = models.resolve("my-coder-7b");
        assert_eq!(own.counter().method(), Method::Cl100k);
        assert_eq!(own.window, models.unknown().window);
        assert!(own.images && !models.unknown().images);
    }

    #[test]
    fn the_output_limit_is_known_only_if_something_says_it() {
        let limit = |name: &str, output, window| {
            let entry =
                ModelEntry { name: name.to_owned(), output, window, ..ModelEntry::default() };
            Models::builtin().with([entry]).resolve(name).output_limit()
        };
        assert_eq!(Models::builtin().unknown().output_limit(), None);
        assert_eq!(limit("mine", None, Some(200_000)), None, "an entry that does not say it");
        assert_eq!(limit("mine", Some(4_096), None), Some(4_096));
        assert_eq!(limit("mine", None, Some(4_000)), Some(2_000), "a small window");
        assert_eq!(limit("claude-opus-4-6", None, None), Some(32_000));
        assert_eq!(limit("claude-3-5-haiku", None, None), Some(8_192));
        assert_eq!(limit("claude-3-opus", None, None), Some(4_096));
        assert_eq!(limit("claude-3-7-sonnet", None, None), Some(32_000));
    }

    #[test]
    fn an_unknown_tokenizer_is_rejected_with_the_known_ones() {
        let error =
            toml::from_str::<ModelEntry>("tokenizer = \"tiktoken\"").unwrap_err().to_string();
        assert!(error.contains("o200k") && error.contains("estimate"), "{error}");
    }
}
