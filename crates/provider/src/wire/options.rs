//! The vendor-neutral settings of a call, in addition to context and tools.

use waterline::json;

/// OpenAI requires every schema to have a name.
const SCHEMA_NAME: &str = "answer";

/// Settings of a call. Unset fields use the provider's defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The output token limit.
    pub max_tokens: Option<usize>,
    /// Whether OpenAI's chat is sent the limit as `max_completion_tokens`; by default as the
    /// built-in model catalog says.
    pub max_completion_tokens: Option<bool>,
    /// How random the answer is; 0 is the least.
    pub temperature: Option<f64>,
    /// Calls with the same key share a cache. It is sent only to servers that are known to take it.
    pub cache_key: Option<String>,
    /// The required shape of the answer; free text if unset. Anthropic's wire ignores it.
    pub shape: Option<Shape>,
    /// Other fields of the request, as name and JSON text. They are sent unchanged, after the
    /// named ones.
    pub extra: Vec<(String, String)>,
}

impl Options {
    /// No settings: the provider's defaults.
    pub const NONE: Self = Self {
        max_tokens: None,
        max_completion_tokens: None,
        temperature: None,
        cache_key: None,
        shape: None,
        extra: Vec::new(),
    };
}

/// The required shape of an answer (structured output).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Any JSON object.
    Object,
    /// JSON that matches a schema.
    Schema {
        /// The schema, as JSON text.
        schema: String,
        /// Whether the provider must enforce the schema. Strict mode accepts fewer schemas, so the
        /// field is sent only if set.
        strict: Option<bool>,
    },
}

impl Shape {
    /// Returns the schema, if there is one.
    pub(super) fn schema(&self) -> Option<&str> {
        match self {
            Self::Object => None,
            Self::Schema { schema, .. } => Some(schema),
        }
    }
}

/// Returns the name of a shape on OpenAI's wires, as JSON.
pub(super) const fn shape_kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Object => r#""json_object""#,
        Shape::Schema { .. } => r#""json_schema""#,
    }
}

/// Returns the fields of a schema on OpenAI's wires; empty if any object is valid.
pub(super) fn schema_fields(shape: &Shape) -> Vec<(&'static str, String)> {
    let Shape::Schema { schema, strict } = shape else { return Vec::new() };
    let fields = [
        Some(("name", json::quote(SCHEMA_NAME))),
        Some(("schema", schema.clone())),
        strict.map(|strict| ("strict", strict.to_string())),
    ];
    fields.into_iter().flatten().collect()
}

/// Returns the header for the key on OpenAI and compatible servers.
pub(super) fn bearer(key: Option<&str>) -> Vec<(&'static str, String)> {
    key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
}
