//! The tools, one file each. A tool is a type of arguments, from which its JSON schema is made, a
//! function, and what it says about its calls: what it can do, what a call touches, how a call
//! reads on one line. What it needs in addition is in the [`ToolContext`].

mod ask_human;
mod call_subagent;
mod call_tool;
mod compact_context;
mod context;
mod edit_file;
mod fetch_url;
mod find_files;
mod hand_off;
mod list_files;
mod now;
mod output;
mod read_artifact;
mod read_file;
mod recall;
mod run_bash_command;
mod search_files;
mod todo;
mod toolbox;
mod walk;
mod write_file;

use std::future::Future;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use crate::describe::{CallInfo, Capability, Subject};
pub use call_tool::NAME as CALL_TOOL;
pub use context::{Host, ToolContext};
pub use output::{Effect, Failure, Output};
pub(crate) use read_file::picture;
pub use toolbox::{Tier, Tiers, Toolbox};

use crate::describe::values;

/// A tool. Copy a file of this directory to make another one, and add it to the list in
/// `toolbox.rs`.
pub trait Tool: Send + Sync + 'static {
    /// Its arguments.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// Its name.
    const NAME: &'static str;
    /// What the model is told about it.
    const ABOUT: &'static str;
    /// What it can do.
    const CAPABILITY: Capability;
    /// Whether it may be used unless the user's configuration says otherwise.
    const ENABLED_BY_DEFAULT: bool = true;

    /// What a call touches. The arguments are as the model wrote them, so they may not fit.
    #[must_use]
    fn subject(_arguments: &Value) -> Subject {
        Subject::Unknown
    }

    /// A call on one line, without the name of the tool.
    #[must_use]
    fn summary(arguments: &Value) -> String {
        values(arguments)
    }

    /// Runs it.
    fn run(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> impl Future<Output = Result<Output, Failure>> + Send;
}

/// A tool of any kind: built in, of a server, or of the program that embeds the agent.
pub trait Callable: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// What the model is told about it.
    fn about(&self) -> &str;
    /// The JSON schema of its arguments.
    fn schema(&self) -> Value;
    /// What it can do.
    fn capability(&self) -> Capability;
    /// Whether it may be used unless the user's configuration says otherwise.
    fn enabled_by_default(&self) -> bool {
        true
    }
    /// What a call touches.
    fn subject(&self, _arguments: &Value) -> Subject {
        Subject::Unknown
    }
    /// A call on one line, without the name of the tool.
    fn summary(&self, arguments: &Value) -> String {
        values(arguments)
    }
    /// Runs it.
    fn call<'a>(
        &'a self,
        arguments: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Output, Failure>>;
}

impl<T: Tool> Callable for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn about(&self) -> &str {
        T::ABOUT
    }

    fn schema(&self) -> Value {
        schema_of::<T::Arguments>()
    }

    fn capability(&self) -> Capability {
        T::CAPABILITY
    }

    fn enabled_by_default(&self) -> bool {
        T::ENABLED_BY_DEFAULT
    }

    fn subject(&self, arguments: &Value) -> Subject {
        T::subject(arguments)
    }

    fn summary(&self, arguments: &Value) -> String {
        T::summary(arguments)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let arguments = serde_json::from_value(arguments).map_err(|error| {
                Failure::new(format!(
                    "the arguments of {} do not fit: {error}; they must fit {}",
                    T::NAME,
                    self.schema()
                ))
            })?;
            self.run(arguments, context).await
        })
    }
}

/// What a tool says about a call whose arguments are JSON, or should be.
#[must_use]
pub fn info_of(tool: &dyn Callable, arguments: &str) -> CallInfo {
    let value = serde_json::from_str::<Value>(arguments);
    let summary = match &value {
        Ok(value) => tool.summary(value),
        Err(_) => arguments.replace('\n', " "),
    };
    let subject = tool.subject(&value.unwrap_or_default());
    CallInfo { capability: tool.capability(), subject, summary }
}

/// The schema of a type, without what only schema tools read.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
        fields.remove("description");
    }
    plainer(&mut schema);
    schema
}

/// Takes out what tells a model nothing, and what weak ones take for arguments: `"format": "uint"`,
/// `null` beside a type.
fn plainer(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type").is_some_and(|kind| kind.is_string() || kind.is_array()) {
                ["format", "minimum", "default"].iter().for_each(|name| drop(fields.remove(*name)));
            }
            if let Some(Value::Array(kinds)) = fields.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [one] = kinds.as_slice() {
                    let one = one.clone();
                    fields.insert("type".to_owned(), one);
                }
            }
            fields.values_mut().for_each(plainer);
        }
        Value::Array(list) => list.iter_mut().for_each(plainer),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of ours may be called as what is taken out.
    #[test]
    fn a_schema_says_what_a_model_must_know_and_no_more() {
        #[derive(serde::Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Arguments {
            /// The first line.
            #[serde(default)]
            from: Option<usize>,
            format: String,
        }
        let expected = serde_json::json!({
            "type": "object",
            "properties": {"from": {"description": "The first line.", "type": "integer"}, "format": {"type": "string"}},
            "required": ["format"]
        });
        assert_eq!(schema_of::<Arguments>(), expected);
    }
}
