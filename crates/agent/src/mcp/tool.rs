//! A tool of a server, as a tool like the others.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model;
use serde_json::{Map, Value};

use super::client::Client;
use super::{content, words};
use crate::tool::{Callable, Capability, Failure, Output, ToolContext};

/// How much a server may tell the model about a tool.
const ABOUT_CHARS: usize = 2_000;

/// A tool of a server. It keeps its server running.
#[derive(Debug)]
pub struct McpTool {
    client: Arc<Client>,
    /// What the server calls it.
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
            about: words::plain(offered.description.as_deref().unwrap_or_default(), ABOUT_CHARS),
            schema: schema(&offered),
        }
    }

    /// Calls it.
    ///
    /// # Errors
    /// When the tool says that it failed, or the server does not answer.
    pub async fn invoke(&self, arguments: Value) -> Result<Output, Failure> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            _ => {
                let (name, schema) = (&self.name, &self.schema);
                return Err(Failure::new(format!(
                    "the arguments of {name} are no object; they must fit {schema}"
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

    /// A server may say that a tool only reads. That is its word, not the user's: it earns no
    /// trust.
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

/// The schema of its arguments: with what providers insist on and servers forget, without what only
/// schema tools read.
fn schema(offered: &model::Tool) -> Value {
    let mut schema = (*offered.input_schema).clone();
    schema.retain(|key, _| key != "$schema");
    schema.entry("type").or_insert_with(|| Value::from("object"));
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    visible(Value::Object(schema))
}

/// The same without what cannot be seen in its texts: the model reads all of them, whoever agrees
/// to a call sees some.
fn visible(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(words::visible(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(visible).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (words::visible(&name), visible(value)))
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
    fn nothing_in_a_schema_is_hidden() {
        let hidden = json!({
            "type": "object",
            "properties": {"na\u{200b}me": {"description": "A name.\u{e0041}\u{202e}\u{1b}[31m", "enum": ["a\u{feff}", 1]}},
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
