//! `find_files`: files by their names.

use globset::GlobBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::walk::{FILES, walk};
use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use waterline_sandbox::workspace::Workspace;

/// More than this are not named.
const FOUND: usize = 200;

/// Finds files.
#[derive(Debug)]
pub(super) struct FindFiles;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// What the path looks like: `*.md` in this folder, `**/*.rs` at any depth.
    pattern: String,
    /// The folder to begin in; the workspace itself if none is named.
    #[serde(default)]
    path: String,
}

impl Tool for FindFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "find_files";
    const ABOUT: &'static str = "Find files by name, with a pattern such as **/*.md.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context
            .on_files(move |workspace| find(workspace, &arguments, FILES).map(Output::text))
            .await
    }
}

/// The files that look so, a line each, and what was not looked at: at most `most` files are.
fn find(workspace: &Workspace, arguments: &Arguments, most: usize) -> Result<String, Failure> {
    let glob = GlobBuilder::new(&arguments.pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| Failure::new(error.to_string()))?.compile_matcher();
    let mut lines = Vec::new();
    let missed = walk(workspace, &arguments.path, most, |file| {
        if !glob.is_match(file.inside) {
            return true;
        }
        // Only the one behind the last that is named shows that there are more.
        let has_room = lines.len() < FOUND;
        if has_room {
            lines.push(file.path());
        }
        has_room
    })?;
    if lines.is_empty() {
        lines.push(format!("[no file looks like {}]", arguments.pattern));
    }
    lines.extend(missed.lines("pattern"));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(pattern: &str, path: &str) -> Arguments {
        Arguments { pattern: pattern.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn what_is_found_can_be_read_under_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        workspace.write("outputs/deep/a.md", b"text").unwrap();
        let whole = workspace.path().join("outputs").display().to_string();
        for path in ["", ".", "outputs", "./outputs/", "outputs/deep", whole.as_str()] {
            let found = find(&workspace, &arguments("**/*.md", path), FILES).unwrap();
            assert_eq!(workspace.read(&found).unwrap(), b"text", "{found}");
        }
        assert_eq!(
            find(&workspace, &arguments("*.md", "./outputs/deep"), FILES).unwrap(),
            "outputs/deep/a.md"
        );
    }

    #[test]
    fn more_files_than_are_looked_at_are_said_also_where_none_was_found() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        for path in ["outputs/a", "outputs/b", "outputs/c"] {
            workspace.write(path, b"").unwrap();
        }
        let found = find(&workspace, &arguments("*.md", "outputs"), 2).unwrap();
        assert!(
            found
                .starts_with("[no file looks like *.md]\n[not all was looked at, only the first 2"),
            "{found}"
        );
        assert_eq!(
            find(&workspace, &arguments("*.md", "outputs"), 3).unwrap(),
            "[no file looks like *.md]"
        );
    }

    #[test]
    fn there_are_more_only_where_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        let write = |n: usize| {
            std::fs::write(folder.path().join(format!("outputs/{n:03}.md")), "").unwrap()
        };
        (0..FOUND).for_each(write);
        let found = find(&workspace, &arguments("*.md", "outputs"), FILES).unwrap();
        assert_eq!((found.lines().count(), found.contains("there are more")), (FOUND, false));
        write(FOUND);
        let found = find(&workspace, &arguments("*.md", "outputs"), FILES).unwrap();
        assert_eq!((found.lines().count(), found.contains("there are more")), (FOUND + 1, true));
    }
}
