//! `search_files`: lines of files that match an expression.

use std::io::{BufRead, BufReader, Read};

use cap_std::fs::File;
use globset::GlobBuilder;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::walk::{FILES, Missed, walk};
use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use waterline_sandbox::{Workspace, open_in};

/// More than this are not shown.
const FOUND: usize = 100;

/// How much of a line is shown.
const LINE_CHARS: usize = 300;

/// How much of a line is looked at: a file may be of any size, what is in memory of it may not.
const LINE_BYTES: u64 = 10_000_000;

/// Searches files.
#[derive(Debug)]
pub(super) struct SearchFiles;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// A regular expression.
    pattern: String,
    /// The folder to begin in, or a file; the workspace itself if none is named.
    #[serde(default)]
    path: String,
    /// Only files whose path looks like this, such as `**/*.rs`.
    #[serde(default)]
    files: Option<String>,
}

impl Tool for SearchFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "search_files";
    const ABOUT: &'static str = "Search the lines of text files with a regular expression.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context
            .on_files(move |workspace| search(workspace, &arguments, FILES).map(Output::text))
            .await
    }
}

/// The lines that match, and what was not looked at: at most `most` files are.
fn search(workspace: &Workspace, arguments: &Arguments, most: usize) -> Result<String, Failure> {
    let Arguments { pattern, path, files } = arguments;
    let wanted = Regex::new(pattern).map_err(|error| Failure::new(error.to_string()))?;
    let glob = files
        .as_ref()
        .map(|files| GlobBuilder::new(files).literal_separator(true).build())
        .transpose();
    let glob =
        glob.map_err(|error| Failure::new(error.to_string()))?.map(|glob| glob.compile_matcher());
    let mut search = Search { wanted, found: Vec::new(), cut: Vec::new(), unread: 0 };
    let mut missed = if let Some(file) = named(workspace, path)? {
        let text = text(file)?.ok_or_else(|| Failure::new(format!("{path} is not a text")))?;
        Missed { more: !search.lines(text, path)?, ..Missed::default() }
    } else {
        walk(workspace, path, most, |file| {
            let is_meant = glob.as_ref().is_none_or(|glob| glob.is_match(file.inside));
            !is_meant || search.look(open_in(file.dir, file.name), &file.path())
        })?
    };
    missed.unread += search.unread;
    let Search { mut found, cut, .. } = search;
    if found.is_empty() {
        found.push(format!("[no line matches {pattern}]"));
    }
    found.extend(cut);
    found.extend(missed.lines("expression"));
    Ok(found.join("\n"))
}

/// The file that a path names; nothing where it names a folder, or what the walk will say is wrong
/// with it.
fn named(workspace: &Workspace, path: &str) -> Result<Option<File>, Failure> {
    let place = workspace.place(path)?;
    if !place.dir.is_file(&place.path) {
        return Ok(None);
    }
    Ok(Some(open_in(place.dir, &place.path).map_err(|error| workspace.explain(path, error))?))
}

/// A text, to be read; nothing where a file is none.
fn text(file: File) -> std::io::Result<Option<BufReader<File>>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut reader = BufReader::new(file);
    let is_text = !reader.fill_buf()?.iter().take(8_000).any(|&byte| byte == 0);
    Ok(is_text.then_some(reader))
}

/// Reads the next line, as much of it as is looked at. Says whether there is more of it; nothing at
/// the end of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    line.clear();
    if reader.by_ref().take(LINE_BYTES).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES;
    Ok(Some(!is_whole && reader.skip_until(b'\n')? > 0))
}

/// A search on its way.
struct Search {
    wanted: Regex,
    found: Vec<String>,
    /// What must be said of lines that are too long.
    cut: Vec<String>,
    /// Files that could not be read.
    unread: usize,
}

impl Search {
    /// Looks at one file of many. Says whether to go on.
    fn look(&mut self, file: std::io::Result<File>, path: &str) -> bool {
        match file.and_then(text) {
            Ok(None) => true,
            Ok(Some(text)) => self.lines(text, path).unwrap_or_else(|_| self.pass()),
            Err(_) => self.pass(),
        }
    }

    fn pass(&mut self) -> bool {
        self.unread += 1;
        true
    }

    /// Looks at the lines of a file. Says whether to go on: not where there are more than are
    /// shown.
    fn lines(&mut self, mut reader: impl BufRead, path: &str) -> std::io::Result<bool> {
        let (mut line, mut number) = (Vec::new(), 0_usize);
        while let Some(is_cut) = next_line(&mut reader, &mut line)? {
            number += 1;
            if is_cut {
                self.cut.push(format!(
                    "[not all was looked at: line {number} of {path} is longer than {LINE_BYTES} bytes, the rest of it was left out]"
                ));
            }
            let text = String::from_utf8_lossy(&line);
            let text = text
                .strip_suffix('\n')
                .map_or(&*text, |text| text.strip_suffix('\r').unwrap_or(text));
            if !self.wanted.is_match(text) {
                continue;
            }
            // Only the one behind the last that is shown says that there are more.
            if self.found.len() == FOUND {
                return Ok(false);
            }
            let text: String = text.trim_end().chars().take(LINE_CHARS).collect();
            self.found.push(format!("{path}:{number}: {text}"));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(pattern: &str, path: &str) -> Arguments {
        Arguments { pattern: pattern.to_owned(), path: path.to_owned(), files: None }
    }

    #[test]
    fn a_folder_and_a_file_are_searched_and_the_paths_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        workspace.write("outputs/a.txt", b"low\r\nhigh tide\r\n").unwrap();
        workspace.write("outputs/a.bin", b"high\0tide").unwrap();
        for path in ["", "outputs", "./outputs/", "outputs/a.txt"] {
            let found = search(&workspace, &arguments("^high tide$", path), FILES).unwrap();
            assert_eq!(found, "outputs/a.txt:2: high tide", "{path}");
        }
        let other = Arguments { files: Some("*.md".to_owned()), ..arguments("high", "outputs") };
        assert_eq!(search(&workspace, &other, FILES).unwrap(), "[no line matches high]");
        let why =
            |path: &str| search(&workspace, &arguments("high", path), FILES).unwrap_err().text;
        assert_eq!(why("outputs/a.bin"), "outputs/a.bin is not a text");
        assert_eq!(why("outputs/b.txt"), "outputs/b.txt does not exist");
    }

    #[test]
    fn more_files_than_are_looked_at_are_said_also_where_no_line_matches() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        for path in ["outputs/a", "outputs/b", "outputs/c"] {
            workspace.write(path, b"low\n").unwrap();
        }
        let found = search(&workspace, &arguments("high", "outputs"), 2).unwrap();
        assert!(
            found.starts_with("[no line matches high]\n[not all was looked at, only the first 2"),
            "{found}"
        );
    }

    #[test]
    fn there_are_more_only_where_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        let count = |lines: usize| {
            workspace.write("outputs/a.txt", "high\nlow\n".repeat(lines).as_bytes()).unwrap();
            let found = search(&workspace, &arguments("high", "outputs"), FILES).unwrap();
            (found.lines().count(), found.contains("there are more"))
        };
        assert_eq!(count(FOUND), (FOUND, false));
        assert_eq!(count(FOUND + 1), (FOUND + 1, true));
    }

    #[test]
    fn a_file_of_any_size_is_searched_and_a_line_of_any_size_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        let path = folder.path().join("outputs/lines");
        std::fs::write(&path, format!("{}high\n", "low tide\n".repeat(1_500_000))).unwrap();
        let found = search(&workspace, &arguments("^high", "outputs"), FILES).unwrap();
        assert_eq!(found, "outputs/lines:1500001: high");
        std::fs::write(&path, format!("{}high\nhigher\n", "low ".repeat(3_000_000))).unwrap();
        let found = search(&workspace, &arguments("high", "outputs"), FILES).unwrap();
        let (first, second) = found.split_once('\n').unwrap();
        assert_eq!(first, "outputs/lines:2: higher");
        assert!(
            second.starts_with("[not all was looked at: line 1 of outputs/lines is longer than"),
            "{second}"
        );
    }
}
