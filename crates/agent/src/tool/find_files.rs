//! `find_files`: finds files by path pattern.

use globset::GlobBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::walk::{MAX_FILES, Scope, walk};
use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use waterline_sandbox::workspace::Workspace;

/// Maximum number of files that are listed.
const MAX_FOUND: usize = 200;

#[derive(Debug)]
pub(super) struct FindFiles;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// A glob that paths below `path` must match: `*.md` in that directory, `**/*.rs` at any depth.
    pattern: String,
    /// The directory to search. Default: the working directory.
    #[serde(default)]
    path: String,
    /// Search ignored files and generated directories too. Default: false.
    #[serde(default)]
    include_ignored: bool,
}

impl Tool for FindFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "find_files";
    const ABOUT: &'static str = "\
        Find files by a glob such as `**/*.md`. Returns one path per line, sorted, at most 200. \
        Skips .git, what .gitignore names, and generated directories such as node_modules, .venv \
        and target; does not follow symbolic links. Use search_files to search file contents.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context
            .on_files(move |workspace| find(workspace, &arguments, MAX_FILES).map(Output::text))
            .await
    }
}

/// Returns the matching files, one per line, and notes on what was not searched. At most
/// `max_files` files are examined.
fn find(workspace: &Workspace, arguments: &Arguments, max_files: usize) -> Result<String, Failure> {
    let glob = GlobBuilder::new(&arguments.pattern).literal_separator(true).build();
    let glob =
        glob.map_err(|error| Failure::new(format!("Invalid glob: {error}.")))?.compile_matcher();
    let mut lines = Vec::new();
    let scope = Scope { max_files, include_ignored: arguments.include_ignored };
    let missed = walk(workspace, &arguments.path, scope, |file| {
        if !glob.is_match(file.inside) {
            return true;
        }
        // There are more results only if one more than the maximum matches.
        let has_room = lines.len() < MAX_FOUND;
        if has_room {
            lines.push(file.path());
        }
        has_room
    })?;
    if lines.is_empty() {
        lines.push(format!("[no files match {}]", arguments.pattern));
        lines.extend(missed.ignored_line());
    }
    lines.extend(missed.lines("pattern"));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(pattern: &str, path: &str) -> Arguments {
        Arguments { pattern: pattern.to_owned(), path: path.to_owned(), include_ignored: false }
    }

    #[test]
    fn found_paths_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        workspace.write("outputs/deep/a.md", b"text").unwrap();
        let absolute = workspace.path().join("outputs").display().to_string();
        for path in ["", ".", "outputs", "./outputs/", "outputs/deep", absolute.as_str()] {
            let found = find(&workspace, &arguments("**/*.md", path), MAX_FILES).unwrap();
            assert_eq!(workspace.read(&found).unwrap(), b"text", "{found}");
        }
        assert_eq!(
            find(&workspace, &arguments("*.md", "./outputs/deep"), MAX_FILES).unwrap(),
            "outputs/deep/a.md"
        );
    }

    #[test]
    fn the_file_limit_is_reported_even_without_matches() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        for path in ["outputs/a", "outputs/b", "outputs/c"] {
            workspace.write(path, b"").unwrap();
        }
        let found = find(&workspace, &arguments("*.md", "outputs"), 2).unwrap();
        assert!(
            found.starts_with("[no files match *.md]\n[incomplete: only the first 2"),
            "{found}"
        );
        assert_eq!(
            find(&workspace, &arguments("*.md", "outputs"), 3).unwrap(),
            "[no files match *.md]"
        );
    }

    #[test]
    fn more_results_are_reported_only_if_there_are_more() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        let write = |n: usize| {
            std::fs::write(directory.path().join(format!("outputs/{n:03}.md")), "").unwrap()
        };
        (0..MAX_FOUND).for_each(write);
        let found = find(&workspace, &arguments("*.md", "outputs"), MAX_FILES).unwrap();
        assert_eq!((found.lines().count(), found.contains("more results")), (MAX_FOUND, false));
        write(MAX_FOUND);
        let found = find(&workspace, &arguments("*.md", "outputs"), MAX_FILES).unwrap();
        assert_eq!((found.lines().count(), found.contains("more results")), (MAX_FOUND + 1, true));
    }
}
