//! A tool of an MCP server.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model;
use serde_json::{Map, Value};

use super::client::Client;
use super::{content, sanitize};
use crate::tool::{Callable, Capability, Failure, Output, ToolContext};

/// Maximum length of a tool description.
const ABOUT_CHARS: usize = 2_000;

/// A tool of an MCP server. It keeps its server running.
#[derive(Debug)]
pub struct McpTool {
    client: Arc<Client>,
    /// The name the server gave it.
    own_name: String,
    name: String,
    about: String,
    schema: Value,
}

impl McpTool {
    pub(super) fn new(client: Arc<Client>, name: String, offered: model::Tool) -> Self {
        Self {
            client,
            own_name: offered.name.to_string(),
            name,
            about: sanitize::plain(offered.description.as_deref().unwrap_or_default(), ABOUT_CHARS),
            schema: schema(&offered),
        }
    }

    /// Calls the tool.
    ///
    /// # Errors
    /// When the tool reports an error, or the server does not answer.
    pub async fn invoke(&self, arguments: Value) -> Result<Output, Failure> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            _ => {
                return Err(Failure::new(format!(
                    "Invalid arguments for {}: expected an object that matches this schema: {}",
                    self.name, self.schema
                )));
            }
        };
        content::output(self.client.call(&self.own_name, arguments).await?)
    }
}

impl Callable for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn schema(&self) -> Value {
        self.schema.clone()
    }

    /// Always `Network`: a server may claim that a tool only reads, but the claim is untrusted.
    fn capability(&self) -> Capability {
        Capability::Network
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(self.invoke(arguments))
    }
}

/// Returns the schema of the arguments, with the fields that providers require and servers forget,
/// and without those that only schema tools read.
fn schema(offered: &model::Tool) -> Value {
    let mut schema = (*offered.input_schema).clone();
    schema.retain(|key, _| key != "$schema");
    schema.entry("type").or_insert_with(|| Value::from("object"));
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    visible(Value::Object(schema))
}

/// Removes hidden characters from all texts: the model reads all of them, but people who approve a
/// call see only some.
fn visible(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(sanitize::visible(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(visible).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (sanitize::visible(&name), visible(value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_characters_are_removed_from_schemas() {
        let hidden = json!({
            "type": "object",
            "properties": {"na\u{200b}me": {
                "description": "A name.\u{e0041}\u{202e}\u{1b}[31m", "enum": ["a\u{feff}", 1],
            }},
            "required": ["na\u{200b}me"],
        });
        let expected = json!({
            "type": "object",
            "properties": {"name": {"description": "A name.[31m", "enum": ["a", 1]}},
            "required": ["name"],
        });
        assert_eq!(visible(hidden), expected);
    }
}
