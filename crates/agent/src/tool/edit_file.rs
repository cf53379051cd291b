//! `edit_file`: replaces text in a file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use crate::changes::FileWrite;
use crate::describe::{protected_path, text, values};
use waterline_sandbox::workspace::Workspace;

#[derive(Debug)]
pub(super) struct EditFile;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file: relative to the working directory, or absolute.
    path: String,
    /// The exact text to replace, including whitespace, with enough context to be unique.
    old: String,
    /// The replacement text.
    new: String,
    /// Replace every occurrence. Default: false.
    #[serde(default)]
    all: bool,
}

impl Tool for EditFile {
    type Arguments = Arguments;
    const NAME: &'static str = "edit_file";
    const ABOUT: &'static str = "\
        Replace `old` with `new` in a text file. `old` must match exactly once unless `all` is \
        true. Read the file first and copy the text exactly. Returns the line of the first \
        replacement. Use write_file to create a file.";
    const CAPABILITY: Capability = Capability::Write;

    fn subject(arguments: &Value) -> Subject {
        let path = text(arguments, "path").unwrap_or_default();
        match (text(arguments, "old"), text(arguments, "new")) {
            (Some(old), Some(new)) => Subject::Edit { path, old, new },
            _ => Subject::Path(path),
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
            .on_files(move |workspace| {
                let edited = edit(workspace, &arguments)?;
                writer.write(&arguments.path, edited.text.as_bytes())?;
                Ok(Output::text(edited.report))
            })
            .await
    }

    fn settled(arguments: &Arguments, workspace: &Workspace) -> Option<Result<String, String>> {
        edit(workspace, arguments).err().map(|failure| Err(failure.text))
    }

    fn planned_write(arguments: &Arguments, workspace: &Workspace) -> Option<FileWrite> {
        let edited = edit(workspace, arguments).ok()?;
        Some(FileWrite::new(&arguments.path, edited.text))
    }
}

/// An edit of a file that is not written yet.
struct Edited {
    /// The new text of the whole file.
    text: String,
    /// The result of the call.
    report: String,
}

/// Replaces the text and reports the line, numbered as `read_file` numbers lines.
fn edit(workspace: &Workspace, arguments: &Arguments) -> Result<Edited, Failure> {
    let Arguments { path, old, new, all } = arguments;
    let file = workspace.read_text(path)?;
    if file.lossy {
        return Err(Failure::new(format!(
            "{path} is not valid UTF-8 and cannot be edited as text."
        )));
    }
    if old.is_empty() {
        return Err(Failure::new(
            "`old` must not be empty. Use write_file to create or overwrite a file.",
        ));
    }
    let found = file.text.matches(old.as_str()).count();
    if found > 1 && !all {
        return Err(Failure::new(format!(
            "`old` matches {found} times in {path}. Add context to make it unique, or set `all` \
             to true."
        )));
    }
    let Some((before, _)) = file.text.split_once(old.as_str()) else {
        return Err(Failure::new(format!(
            "No match for `old` in {path}. Re-read the file and copy the text exactly."
        )));
    };
    let line = before.matches('\n').count() + 1;
    let report = match found {
        1 => format!("Edited {path}: 1 replacement at line {line}"),
        _ => format!("Edited {path}: {found} replacements, the first at line {line}"),
    };
    Ok(Edited { text: file.text.replace(old.as_str(), new), report })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_reports_the_line() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        for (old, expected) in [
            ("low", "Edited a.txt: 1 replacement at line 1"),
            ("ebb", "Edited a.txt: 1 replacement at line 2"),
            ("of the", "Edited a.txt: 1 replacement at line 2"),
            ("\nhigh", "Edited a.txt: 1 replacement at line 2"),
            ("high", "Edited a.txt: 1 replacement at line 3"),
        ] {
            workspace.write("a.txt", b"low\nebb of the day\nhigh\n").unwrap();
            let arguments = Arguments {
                path: "a.txt".to_owned(),
                old: old.to_owned(),
                new: "tide".to_owned(),
                all: false,
            };
            let edited = edit(&workspace, &arguments).unwrap();
            assert_eq!(edited.report, expected, "{old:?}");
            if old == "high" {
                assert_eq!(edited.text, "low\nebb of the day\ntide\n");
            }
        }
    }
}
