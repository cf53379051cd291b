//! The built-in tools, one file each.
//!
//! A tool has an argument type, from which its JSON schema is derived, and a function. It also
//! describes its calls: its capability, what a call touches, and a one-line summary. Everything
//! else a tool needs is in the [`ToolContext`].

mod ask_human;
mod call_subagent;
mod call_tool;
mod compact_context;
mod context;
mod describe_tool;
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
mod terminal_output;
mod todo;
mod toolbox;
mod walk;
mod write_file;

use std::future::Future;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use waterline_sandbox::Workspace;

pub use crate::describe::{CallInfo, Capability, Subject};
pub use call_tool::NAME as CALL_TOOL;
pub use context::{Host, ToolContext};
pub use output::{Effect, Failure, Output};
pub(crate) use read_file::image_media_type;
pub(crate) use toolbox::SERVER_SEPARATOR;
pub use toolbox::{Tier, Tiers, Toolbox};

use crate::changes::FileWrite;
use crate::describe::values;

/// The names of the tools that other modules refer to.
pub(crate) const COMMANDS: &str = run_bash_command::RunBashCommand::NAME;
pub(crate) const FIND_FILES: &str = find_files::FindFiles::NAME;
pub(crate) const HAND_OFF: &str = hand_off::HandOff::NAME;
pub(crate) const LIST_FILES: &str = list_files::ListFiles::NAME;
pub(crate) const READ_FILE: &str = read_file::ReadFile::NAME;
pub(crate) const RECALL: &str = recall::Recall::NAME;
pub(crate) const SEARCH_FILES: &str = search_files::SearchFiles::NAME;

/// A built-in tool. To add one, copy a file of this directory and add it to the list in
/// `toolbox.rs`.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Doc comments on its fields are the parameter descriptions the model reads.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// The name the model calls it by.
    const NAME: &'static str;
    /// The description the model reads.
    const ABOUT: &'static str;
    /// The kind of access it needs; approvals are decided by it.
    const CAPABILITY: Capability;
    /// Whether it is enabled unless the user's configuration says otherwise.
    const ENABLED_BY_DEFAULT: bool = true;

    /// Returns what a call touches. The arguments are as the model wrote them and may be invalid.
    #[must_use]
    fn subject(_arguments: &Value) -> Subject {
        Subject::Unknown
    }

    /// Returns the names of the protected paths that a call changes.
    #[must_use]
    fn protected(_arguments: &Value) -> Vec<String> {
        Vec::new()
    }

    /// Returns a one-line summary of a call, without the tool's name.
    #[must_use]
    fn summary(arguments: &Value) -> String {
        values(arguments)
    }

    /// Returns the file that a call would write with [`ToolContext::write`]: it is shown before the
    /// call is approved, and recorded together with the start of the call. Blocks.
    #[must_use]
    fn planned_write(_arguments: &Self::Arguments, _workspace: &Workspace) -> Option<FileWrite> {
        None
    }

    /// Returns the result of a call that can have no effect, such as one that is bound to fail: no
    /// one is asked to approve it. An error is the text of the failure. Blocks.
    #[must_use]
    fn settled(
        _arguments: &Self::Arguments,
        _workspace: &Workspace,
    ) -> Option<Result<String, String>> {
        None
    }

    /// Runs a call.
    fn run(
        &self,
        arguments: Self::Arguments,
        context: &ToolContext,
    ) -> impl Future<Output = Result<Output, Failure>> + Send;
}

/// Any tool: built in, from an MCP server, or from the program that embeds the agent.
pub trait Callable: Send + Sync {
    /// Returns the name the model calls it by.
    fn name(&self) -> &str;
    /// Returns the description the model reads.
    fn about(&self) -> &str;
    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> Value;
    /// Returns the kind of access it needs.
    fn capability(&self) -> Capability;
    /// Returns whether it is enabled unless the user's configuration says otherwise.
    fn enabled_by_default(&self) -> bool {
        true
    }
    /// Returns what a call touches.
    fn subject(&self, _arguments: &Value) -> Subject {
        Subject::Unknown
    }
    /// Returns the names of the [protected paths](waterline_sandbox::protected) that a call
    /// changes.
    fn protected(&self, _arguments: &Value) -> Vec<String> {
        Vec::new()
    }
    /// Returns a one-line summary of a call, without the tool's name.
    fn summary(&self, arguments: &Value) -> String {
        values(arguments)
    }
    /// Returns the file that a call would write with [`ToolContext::write`]: it is shown before the
    /// call is approved, and recorded together with the start of the call. Blocks.
    fn planned_write(&self, _arguments: &Value, _workspace: &Workspace) -> Option<FileWrite> {
        None
    }
    /// Returns the result of a call that can have no effect, such as one that is bound to fail: no
    /// one is asked to approve it. An error is the text of the failure. Blocks.
    fn settled(
        &self,
        _arguments: &Value,
        _workspace: &Workspace,
    ) -> Option<Result<String, String>> {
        None
    }
    /// Runs a call.
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

    fn protected(&self, arguments: &Value) -> Vec<String> {
        T::protected(arguments)
    }

    fn summary(&self, arguments: &Value) -> String {
        T::summary(arguments)
    }

    fn planned_write(&self, arguments: &Value, workspace: &Workspace) -> Option<FileWrite> {
        let arguments = serde_json::from_value(arguments.clone()).ok()?;
        T::planned_write(&arguments, workspace)
    }

    fn settled(&self, arguments: &Value, workspace: &Workspace) -> Option<Result<String, String>> {
        let arguments = serde_json::from_value(arguments.clone()).ok()?;
        T::settled(&arguments, workspace)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let arguments = serde_json::from_value(arguments).map_err(|error| {
                Failure::new(format!(
                    "Invalid arguments for {}: {error}. They must match this schema: {}",
                    T::NAME,
                    self.schema()
                ))
            })?;
            self.run(arguments, context).await
        })
    }
}

/// Describes a call. The arguments should be JSON, but need not be.
#[must_use]
pub fn info_of(tool: &dyn Callable, arguments: &str) -> CallInfo {
    let value = serde_json::from_str::<Value>(arguments);
    let summary = match &value {
        Ok(value) => tool.summary(value),
        Err(_) => arguments.replace('\n', " "),
    };
    let value = value.unwrap_or_default();
    CallInfo {
        capability: tool.capability(),
        subject: tool.subject(&value),
        summary,
        protected: tool.protected(&value),
        diff: None,
    }
}

/// Returns the JSON schema of a type, without the fields that only schema tools read.
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
    simplify(&mut schema);
    schema
}

/// Removes schema fields that do not help a model and that weak models mistake for arguments:
/// `"format": "uint"`, `null` as an alternative type.
fn simplify(schema: &mut Value) {
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
            fields.values_mut().for_each(simplify);
        }
        Value::Array(list) => list.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An argument may itself be named `format`, which is also a field that is removed.
    #[test]
    fn schema_has_only_what_the_model_needs() {
        #[derive(serde::Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Arguments {
            /// The first line.
            #[serde(default)]
            from: Option<usize>,
            format: String,
        }
        let expected = serde_json::json!({
            "type": "object",
            "properties": {
                "from": {"description": "The first line.", "type": "integer"},
                "format": {"type": "string"}
            },
            "required": ["format"]
        });
        assert_eq!(schema_of::<Arguments>(), expected);
    }
}
