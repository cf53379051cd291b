//! `write_file`: a file written whole, or not at all.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;

/// Writes a file.
#[derive(Debug)]
pub(super) struct WriteFile;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file. Folders on the way to it are made.
    path: String,
    /// Everything that is to stand in it.
    content: String,
}

impl Tool for WriteFile {
    type Arguments = Arguments;
    const NAME: &'static str = "write_file";
    const ABOUT: &'static str = "Write a file whole. Results for the user belong into outputs/. To change a part of a file use edit_file.";
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
                let what = if is_new { "made" } else { "replaced" };
                Ok(Output::text(format!(
                    "{what} {} ({} bytes)",
                    arguments.path,
                    arguments.content.len()
                )))
            })
            .await
    }
}
