//! `list_files`: what is in a folder.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};

/// More entries than this are only counted.
const ENTRIES: usize = 500;

/// Lists a folder.
#[derive(Debug)]
pub(super) struct ListFiles;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The folder; the workspace itself if none is named.
    #[serde(default)]
    path: String,
}

impl Tool for ListFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "list_files";
    const ABOUT: &'static str = "List the files and folders in a folder, with sizes.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context
            .on_files(move |workspace| {
                let entries = workspace.entries(&arguments.path)?;
                let mut lines: Vec<String> = entries
                    .iter()
                    .take(ENTRIES)
                    .map(|entry| {
                        let name = entry.file_name().to_string_lossy().into_owned();
                        match entry.metadata() {
                            Ok(metadata) if metadata.is_dir() => format!("{name}/"),
                            Ok(metadata) if metadata.is_symlink() => format!("{name} (link)"),
                            Ok(metadata) => format!("{name} ({} bytes)", metadata.len()),
                            Err(_) => name,
                        }
                    })
                    .collect();
                if entries.len() > ENTRIES {
                    lines.push(format!("[and {} more]", entries.len() - ENTRIES));
                }
                Ok(Output::text(if lines.is_empty() {
                    "[the folder is empty]".to_owned()
                } else {
                    lines.join("\n")
                }))
            })
            .await
    }
}
