//! `search_files`: searches file contents with a regular expression.

use std::io::{BufRead, BufReader, Read};

use cap_std::fs::File;
use globset::GlobBuilder;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::walk::{MAX_FILES, Missed, Scope, walk};
use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use waterline_sandbox::{Workspace, open_in};

/// Maximum number of lines that are shown.
const MAX_FOUND: usize = 100;

/// Maximum number of characters shown of a line.
const LINE_CHARS: usize = 300;

/// Maximum number of bytes searched of a line. It bounds memory; files may have any size.
const LINE_BYTES: u64 = 10_000_000;

#[derive(Debug)]
pub(super) struct SearchFiles;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The regular expression (Rust syntax), matched against each line.
    pattern: String,
    /// The directory or file to search. Default: the working directory.
    #[serde(default)]
    path: String,
    /// Search only files whose path below `path` matches this glob, such as `**/*.rs`.
    #[serde(default)]
    files: Option<String>,
    /// Search ignored files and generated directories too. Default: false.
    #[serde(default)]
    include_ignored: bool,
}

impl Tool for SearchFiles {
    type Arguments = Arguments;
    const NAME: &'static str = "search_files";
    const ABOUT: &'static str = "\
        Search text files for lines that match a regular expression, recursively. Returns \
        `path:line: text`, at most 100 lines. Skips binary files, .git, what .gitignore names, and \
        generated directories such as node_modules, .venv and target; does not follow symbolic \
        links. Use find_files to search file names.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context
            .on_files(move |workspace| search(workspace, &arguments, MAX_FILES).map(Output::text))
            .await
    }
}

/// Returns the matching lines and notes on what was not searched. At most `max_files` files are
/// searched.
fn search(
    workspace: &Workspace,
    arguments: &Arguments,
    max_files: usize,
) -> Result<String, Failure> {
    let Arguments { pattern, path, files, include_ignored } = arguments;
    let scope = Scope { max_files, include_ignored: *include_ignored };
    let wanted = Regex::new(pattern)
        .map_err(|error| Failure::new(format!("Invalid regular expression: {error}")))?;
    let glob = files
        .as_ref()
        .map(|files| GlobBuilder::new(files).literal_separator(true).build())
        .transpose();
    let glob = glob
        .map_err(|error| Failure::new(format!("Invalid glob: {error}.")))?
        .map(|glob| glob.compile_matcher());
    let mut search = Search { wanted, found: Vec::new(), long_lines: Vec::new(), unread: 0 };
    let mut missed = if let Some(file) = open_file(workspace, path)? {
        let text =
            text(file)?.ok_or_else(|| Failure::new(format!("{path} is not a text file.")))?;
        Missed { more: !search.lines(text, path)?, ..Missed::default() }
    } else {
        walk(workspace, path, scope, |file| {
            let is_selected = glob.as_ref().is_none_or(|glob| glob.is_match(file.inside));
            !is_selected || search.search_file(open_in(file.dir, file.name), &file.path())
        })?
    };
    missed.unread += search.unread;
    let Search { mut found, long_lines, .. } = search;
    if found.is_empty() {
        found.push(format!("[no lines match {pattern}]"));
        found.extend(missed.ignored_line());
    }
    found.extend(long_lines);
    found.extend(missed.lines("pattern"));
    Ok(found.join("\n"))
}

/// Opens the file at a path. Returns `None` for a directory, and for a path that `walk` will report
/// as invalid.
fn open_file(workspace: &Workspace, path: &str) -> Result<Option<File>, Failure> {
    let location = workspace.location(path)?;
    if !location.dir.is_file(&location.path) {
        return Ok(None);
    }
    Ok(Some(open_in(location.dir, &location.path).map_err(|error| workspace.explain(path, error))?))
}

/// Returns a reader for a text file, or `None` if the file is not text.
fn text(file: File) -> std::io::Result<Option<BufReader<File>>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut reader = BufReader::new(file);
    let is_text = !reader.fill_buf()?.iter().take(8_000).any(|&byte| byte == 0);
    Ok(is_text.then_some(reader))
}

/// Reads the next line, up to `LINE_BYTES` of it. Returns whether it was truncated, or `None` at
/// the end of the file.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    line.clear();
    if reader.by_ref().take(LINE_BYTES).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES;
    Ok(Some(!is_whole && reader.skip_until(b'\n')? > 0))
}

struct Search {
    wanted: Regex,
    found: Vec<String>,
    /// Notes on lines that were too long to search completely.
    long_lines: Vec<String>,
    /// Files that could not be read.
    unread: usize,
}

impl Search {
    /// Searches one file of many. Returns whether to continue.
    fn search_file(&mut self, file: std::io::Result<File>, path: &str) -> bool {
        match file.and_then(text) {
            Ok(None) => true,
            Ok(Some(text)) => self.lines(text, path).unwrap_or_else(|_| self.skip()),
            Err(_) => self.skip(),
        }
    }

    fn skip(&mut self) -> bool {
        self.unread += 1;
        true
    }

    /// Searches the lines of a file. Returns whether to continue: not if there are more matches
    /// than are shown.
    fn lines(&mut self, mut reader: impl BufRead, path: &str) -> std::io::Result<bool> {
        let mut line = Vec::new();
        let mut number = 0_usize;
        while let Some(is_truncated) = next_line(&mut reader, &mut line)? {
            number += 1;
            if is_truncated {
                self.long_lines.push(format!(
                    "[incomplete: line {number} of {path} is longer than {LINE_BYTES} bytes; the \
                     rest of it was not searched]"
                ));
            }
            let decoded = String::from_utf8_lossy(&line);
            let text = decoded
                .strip_suffix('\n')
                .map_or(&*decoded, |text| text.strip_suffix('\r').unwrap_or(text));
            if !self.wanted.is_match(text) {
                continue;
            }
            // There are more results only if one more than the maximum matches.
            if self.found.len() == MAX_FOUND {
                return Ok(false);
            }
            let text = text.trim_end();
            let mut shown: String = text.chars().take(LINE_CHARS).collect();
            if shown.len() < text.len() {
                shown.push_str(" [line truncated]");
            }
            self.found.push(format!("{path}:{number}: {shown}"));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(pattern: &str, path: &str) -> Arguments {
        let (pattern, path) = (pattern.to_owned(), path.to_owned());
        Arguments { pattern, path, files: None, include_ignored: false }
    }

    #[test]
    fn directories_and_files_are_searched_and_found_paths_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        workspace.write("outputs/a.txt", b"low\r\nhigh tide\r\n").unwrap();
        workspace.write("outputs/a.bin", b"high\0tide").unwrap();
        for path in ["", "outputs", "./outputs/", "outputs/a.txt"] {
            let found = search(&workspace, &arguments("^high tide$", path), MAX_FILES).unwrap();
            assert_eq!(found, "outputs/a.txt:2: high tide", "{path}");
        }
        let other = Arguments { files: Some("*.md".to_owned()), ..arguments("high", "outputs") };
        assert_eq!(search(&workspace, &other, MAX_FILES).unwrap(), "[no lines match high]");
        let why =
            |path: &str| search(&workspace, &arguments("high", path), MAX_FILES).unwrap_err().text;
        assert_eq!(why("outputs/a.bin"), "outputs/a.bin is not a text file.");
        assert_eq!(why("outputs/b.txt"), "outputs/b.txt does not exist");
    }

    #[test]
    fn the_file_limit_is_reported_even_without_matches() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        for path in ["outputs/a", "outputs/b", "outputs/c"] {
            workspace.write(path, b"low\n").unwrap();
        }
        let found = search(&workspace, &arguments("high", "outputs"), 2).unwrap();
        assert!(
            found.starts_with("[no lines match high]\n[incomplete: only the first 2"),
            "{found}"
        );
    }

    #[test]
    fn more_results_are_reported_only_if_there_are_more() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        let count = |lines: usize| {
            workspace.write("outputs/a.txt", "high\nlow\n".repeat(lines).as_bytes()).unwrap();
            let found = search(&workspace, &arguments("high", "outputs"), MAX_FILES).unwrap();
            (found.lines().count(), found.contains("more results"))
        };
        assert_eq!(count(MAX_FOUND), (MAX_FOUND, false));
        assert_eq!(count(MAX_FOUND + 1), (MAX_FOUND + 1, true));
    }

    #[test]
    fn large_files_are_searched_and_very_long_lines_are_truncated() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        let path = directory.path().join("outputs/lines");
        std::fs::write(&path, format!("{}high\n", "low tide\n".repeat(1_500_000))).unwrap();
        let found = search(&workspace, &arguments("^high", "outputs"), MAX_FILES).unwrap();
        assert_eq!(found, "outputs/lines:1500001: high");
        std::fs::write(&path, format!("{}\n{}\n", "h".repeat(LINE_CHARS), "h".repeat(301)))
            .unwrap();
        let found = search(&workspace, &arguments("h", "outputs"), MAX_FILES).unwrap();
        let shown = "h".repeat(LINE_CHARS);
        assert_eq!(
            found,
            format!("outputs/lines:1: {shown}\noutputs/lines:2: {shown} [line truncated]")
        );
        std::fs::write(&path, format!("{}high\nhigher\n", "low ".repeat(3_000_000))).unwrap();
        let found = search(&workspace, &arguments("high", "outputs"), MAX_FILES).unwrap();
        let (first, second) = found.split_once('\n').unwrap();
        assert_eq!(first, "outputs/lines:2: higher");
        assert!(
            second.starts_with("[incomplete: line 1 of outputs/lines is longer than"),
            "{second}"
        );
    }
}
