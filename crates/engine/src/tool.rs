//! A vendor-neutral tool definition. The engine counts its tokens; each wire renders it in its own
//! format.

use serde::{Deserialize, Serialize};

use crate::json;

/// A tool definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// The tool's name.
    pub name: String,
    /// The description that the model reads.
    pub description: Option<String>,
    /// The JSON schema of its arguments, as JSON text.
    pub schema: Option<String>,
}

impl Tool {
    /// Creates a tool with a description and the JSON schema of its arguments.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: impl ToString,
    ) -> Self {
        Self {
            name: name.into(),
            description: Some(description.into()),
            schema: Some(schema.to_string()),
        }
    }

    /// Renders the definition for OpenAI's chat. Its token count is a good estimate for any wire.
    #[must_use]
    pub fn definition(&self) -> String {
        let function = [
            Some(("name", json::quote(&self.name))),
            self.description.as_ref().map(|text| ("description", json::quote(text))),
            self.schema.clone().map(|schema| ("parameters", schema)),
        ];
        json::object([
            ("type", json::quote("function")),
            ("function", json::object(function.into_iter().flatten())),
        ])
    }
}
