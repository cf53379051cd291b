//! What a call sets beside context and tools, in words that belong to no vendor.

use waterline::json;

/// OpenAI wants every schema to have a name.
const SCHEMA_NAME: &str = "answer";

/// Settings of a call; what is not set is left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The most tokens of the answer.
    pub max_tokens: Option<usize>,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// Calls with the same key are sent to the same cache, where a provider has such keys.
    pub cache_key: Option<String>,
    /// What the answer must be; any words where nothing is said. Anthropic's wire leaves it out.
    pub shape: Option<Shape>,
    /// Fields of the request that this type does not name: name and JSON text. They go out
    /// unchanged, behind the others.
    pub extra: Vec<(String, String)>,
}

impl Options {
    /// Everything is left to the provider.
    pub const NONE: Self = Self {
        max_tokens: None,
        temperature: None,
        cache_key: None,
        shape: None,
        extra: Vec::new(),
    };
}

/// What an answer must be, where words of any kind will not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Any JSON object.
    Object,
    /// JSON that fits a schema.
    Schema {
        /// The schema, as JSON text.
        schema: String,
        /// Whether the provider is to hold the model to it without exception. Then it takes fewer
        /// kinds of schemas, so nothing is said of it unless somebody asked for it.
        strict: Option<bool>,
    },
}

impl Shape {
    /// The schema, where there is one.
    pub(super) fn schema(&self) -> Option<&str> {
        match self {
            Self::Object => None,
            Self::Schema { schema, .. } => Some(schema),
        }
    }
}

/// What OpenAI calls a shape, and everything that imitates it.
pub(super) const fn shape_kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Object => r#""json_object""#,
        Shape::Schema { .. } => r#""json_schema""#,
    }
}

/// The fields of a schema, as they take it; none where any object will do.
pub(super) fn schema_fields(shape: &Shape) -> Vec<(&'static str, String)> {
    let Shape::Schema { schema, strict } = shape else { return Vec::new() };
    let fields = [
        Some(("name", json::quote(SCHEMA_NAME))),
        Some(("schema", schema.clone())),
        strict.map(|strict| ("strict", strict.to_string())),
    ];
    fields.into_iter().flatten().collect()
}

/// The header in which OpenAI, and everything that imitates it, takes a key.
pub(super) fn bearer(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}
