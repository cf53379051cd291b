//! What a call sets beside context and tools, in words that belong to no vendor.

/// Settings of a call; what is not set is left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The most tokens of the answer.
    pub max_tokens: Option<usize>,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// Calls with the same key are sent to the same cache, where a provider has such keys.
    pub cache_key: Option<String>,
}

/// The header in which OpenAI, and everything that imitates it, takes a key.
pub(super) fn bearer(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}
