//! `edit_file`: one text of a file replaced by another.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::describe::text;
use waterline_sandbox::workspace::Workspace;

/// Edits a file.
#[derive(Debug)]
pub(super) struct EditFile;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file.
    path: String,
    /// The text to replace, exactly as it stands in the file, with enough around it to be found
    /// once.
    old: String,
    /// What is to stand there.
    new: String,
    /// Replace it wherever it stands.
    #[serde(default)]
    all: bool,
}

impl Tool for EditFile {
    type Arguments = Arguments;
    const NAME: &'static str = "edit_file";
    const ABOUT: &'static str = "Replace a text in a file by another. The old text must stand in the file exactly once, unless all is true.";
    const CAPABILITY: Capability = Capability::Write;

    fn subject(arguments: &Value) -> Subject {
        let path = text(arguments, "path").unwrap_or_default();
        match (text(arguments, "old"), text(arguments, "new")) {
            (Some(old), Some(new)) => Subject::Edit { path, old, new },
            _ => Subject::Path(path),
        }
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context.on_files(move |workspace| edit(workspace, &arguments).map(Output::text)).await
    }
}

/// Replaces the text. Says where, counted as `read_file` counts lines.
fn edit(workspace: &Workspace, arguments: &Arguments) -> Result<String, Failure> {
    let Arguments { path, old, new, all } = arguments;
    let file = workspace.read_text(path)?;
    if file.lossy {
        return Err(Failure::new(format!(
            "{path} holds bytes that are no text; it cannot be edited as one"
        )));
    }
    if old.is_empty() {
        return Err(Failure::new("old is empty; write_file writes a file whole"));
    }
    let found = file.text.matches(old.as_str()).count();
    if found > 1 && !all {
        return Err(Failure::new(format!(
            "the old text stands in {path} {found} times; give more of what is around it, or set all"
        )));
    }
    let Some((before, _)) = file.text.split_once(old.as_str()) else {
        return Err(Failure::new(format!(
            "the old text does not stand in {path}; read the file again"
        )));
    };
    let line = before.matches('\n').count() + 1;
    workspace.write(path, file.text.replace(old.as_str(), new).as_bytes())?;
    let times = if found == 1 { String::new() } else { format!(", {found} times") };
    Ok(format!("edited {path} at line {line}{times}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_was_edited_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        for (old, said) in [
            ("low", "edited a.txt at line 1"),
            ("ebb", "edited a.txt at line 2"),
            ("of the", "edited a.txt at line 2"),
            ("\nhigh", "edited a.txt at line 2"),
            ("high", "edited a.txt at line 3"),
        ] {
            workspace.write("a.txt", b"low\nebb of the day\nhigh\n").unwrap();
            let arguments = Arguments {
                path: "a.txt".to_owned(),
                old: old.to_owned(),
                new: "tide".to_owned(),
                all: false,
            };
            assert_eq!(edit(&workspace, &arguments).unwrap(), said, "{old:?}");
        }
        assert_eq!(workspace.read("a.txt").unwrap(), b"low\nebb of the day\ntide\n");
    }
}
