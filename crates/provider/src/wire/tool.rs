//! A tool definition, in a form that belongs to no vendor. Each wire writes it in its own way.

use serde::{Deserialize, Serialize};
use waterline::json;

/// A tool definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, as the model reads it.
    pub description: Option<String>,
    /// The JSON schema of its arguments, as JSON text.
    pub schema: Option<String>,
}

impl Tool {
    /// A tool with a description and the JSON schema of its arguments.
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

    /// The definition as OpenAI's chat writes it; its tokens are what a definition takes on any
    /// wire, within a few.
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
