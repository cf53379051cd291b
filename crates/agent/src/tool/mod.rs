//! What the model can have done: one tool a file. A tool is a type of arguments, from which its JSON schema is made, and a
//! function; what it needs beside its arguments is in the [`Scene`].

mod ask_human;
mod call_subagent;
mod call_tool;
mod compact_context;
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
mod scene;
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

pub use call_tool::NAME as CALL_TOOL;
pub use output::{Effect, Failure, Output};
pub(crate) use read_file::picture;
pub use scene::Scene;
pub use toolbox::{Tier, Tiers, Toolbox};

/// What a tool does to the world: what may be done without asking, and together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// It looks at something.
    Reads,
    /// It changes something in the workspace, or in the session.
    Writes,
    /// It runs a program.
    Runs,
    /// It reaches somebody outside: a server, the network.
    Reaches,
    /// It starts an agent of its own.
    Delegates,
    /// It asks a person.
    Asks,
    /// It has another role go on.
    HandsOver,
}

/// A tool. Copy a file of this folder to make another one.
pub trait Tool: Send + Sync + 'static {
    /// What it is called with.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// Its name.
    const NAME: &'static str;
    /// What the model is told about it.
    const ABOUT: &'static str;
    /// What it does to the world.
    const NATURE: Nature;

    /// Does it.
    fn run(&self, arguments: Self::Arguments, scene: &Scene) -> impl Future<Output = Result<Output, Failure>> + Send;
}

/// A tool of any kind: built in, or of a server.
pub trait Callable: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;
    /// What the model is told about it.
    fn about(&self) -> &str;
    /// What its arguments look like.
    fn schema(&self) -> Value;
    /// What it does to the world.
    fn nature(&self) -> Nature;
    /// Does it.
    fn call<'a>(&'a self, arguments: Value, scene: &'a Scene) -> BoxFuture<'a, Result<Output, Failure>>;
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

    fn nature(&self) -> Nature {
        T::NATURE
    }

    fn call<'a>(&'a self, arguments: Value, scene: &'a Scene) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            let arguments = serde_json::from_value(arguments).map_err(|error| {
                Failure::new(format!(
                    "the arguments of {} do not fit: {error}; they must fit {}",
                    T::NAME,
                    self.schema()
                ))
            })?;
            self.run(arguments, scene).await
        })
    }
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

/// Takes out what tells a model nothing, and what weak ones take for arguments: `"format": "uint"`, `null` beside a type.
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
