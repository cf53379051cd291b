//! `write_file`: creates or overwrites a file, atomically.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline_sandbox::Workspace;
use waterline_sandbox::workspace::{FILE_BYTES, FileAt};

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::changes::FileWrite;
use crate::describe::{protected_path, text, values};
use crate::reason::counted;

#[derive(Debug)]
pub(super) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file: relative to the working directory, or absolute. Missing directories are created.
    path: String,
    /// The complete content of the file.
    content: String,
}

impl Tool for WriteFile {
    type Arguments = Arguments;
    const NAME: &'static str = "write_file";
    const ABOUT: &'static str = "\
        Create or overwrite a file with the given content. Deliverables that do not belong to a \
        project go to `outputs/` of your private directory. Use edit_file to change part of an \
        existing file.";
    const CAPABILITY: Capability = Capability::Write;

    fn subject(arguments: &Value) -> Subject {
        let path = text(arguments, "path").unwrap_or_default();
        match text(arguments, "content") {
            Some(content) => Subject::Content { path, content },
            None => Subject::Path(path),
        }
    }

    fn protected(arguments: &Value) -> Vec<String> {
        protected_path(arguments)
    }

    fn summary(arguments: &Value) -> String {
        // The change itself is shown as a diff.
        text(arguments, "path").unwrap_or_else(|| values(arguments))
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        let writer = context.clone();
        context
            .on_files(move |_| {
                let is_new = writer.write(&arguments.path, arguments.content.as_bytes())?;
                let what = if is_new { "Created" } else { "Overwrote" };
                Ok(Output::text(format!(
                    "{what} {} ({})",
                    arguments.path,
                    counted(arguments.content.len() as u64, "byte")
                )))
            })
            .await
    }

    fn settled(arguments: &Arguments, workspace: &Workspace) -> Option<Result<String, String>> {
        let Arguments { path, content } = arguments;
        let real = workspace.resolve(path).ok()?;
        match workspace.file_at(&real.display().to_string(), FILE_BYTES).ok()? {
            FileAt::File { bytes, .. } if bytes == content.as_bytes() => {
                Some(Ok(format!("{path} already has this content; it was not written.")))
            }
            _ => None,
        }
    }

    fn planned_write(arguments: &Arguments, _: &Workspace) -> Option<FileWrite> {
        let Arguments { path, content } = arguments;
        Some(FileWrite::new(path, content.as_bytes()))
    }
}
