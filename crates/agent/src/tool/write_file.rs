//! `write_file`: creates or overwrites a file, atomically.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;

#[derive(Debug)]
pub(super) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file: relative to the workspace, or absolute inside a granted directory. Missing
    /// directories are created.
    path: String,
    /// The complete content of the file.
    content: String,
}

impl Tool for WriteFile {
    type Arguments = Arguments;
    const NAME: &'static str = "write_file";
    const ABOUT: &'static str = "\
        Create or overwrite a file with the given content. Put deliverables for the user in \
        `outputs/`. Use edit_file to change part of an existing file.";
    const CAPABILITY: Capability = Capability::Write;

    fn subject(arguments: &Value) -> Subject {
        let path = text(arguments, "path").unwrap_or_default();
        match text(arguments, "content") {
            Some(content) => Subject::Content { path, content },
            None => Subject::Path(path),
        }
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context
            .on_files(move |workspace| {
                let is_new = workspace.write(&arguments.path, arguments.content.as_bytes())?;
                let what = if is_new { "Created" } else { "Overwrote" };
                Ok(Output::text(format!(
                    "{what} {} ({} bytes)",
                    arguments.path,
                    arguments.content.len()
                )))
            })
            .await
    }
}
