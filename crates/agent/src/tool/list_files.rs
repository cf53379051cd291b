//! `list_files`: lists a directory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::reason::counted;

/// Maximum number of entries that are listed; the rest are counted.
const MAX_ENTRIES: usize = 500;

#[derive(Debug)]
pub(super) struct ListFiles;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The directory to list. Default: the working directory.
    #[serde(default)]
    path: String,
}

impl Tool for ListFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "list_files";
    const ABOUT: &'static str = "\
        List the entries of one directory, not recursively: files with their size in bytes, \
        directories with a trailing slash, at most 500. Use find_files to search recursively.";
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
                    .take(MAX_ENTRIES)
                    .map(|entry| {
                        let name = entry.file_name().to_string_lossy().into_owned();
                        match entry.metadata() {
                            Ok(metadata) if metadata.is_dir() => format!("{name}/"),
                            Ok(metadata) if metadata.is_symlink() => format!("{name} (link)"),
                            Ok(metadata) => format!("{name} ({})", counted(metadata.len(), "byte")),
                            Err(_) => name,
                        }
                    })
                    .collect();
                if entries.len() > MAX_ENTRIES {
                    lines.push(format!("[and {} more]", entries.len() - MAX_ENTRIES));
                }
                Ok(Output::text(if lines.is_empty() {
                    "[the directory is empty]".to_owned()
                } else {
                    lines.join("\n")
                }))
            })
            .await
    }
}
