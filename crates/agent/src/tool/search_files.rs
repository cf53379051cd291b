//! `search_files`: lines of files that match an expression.

use std::io::Read;

use globset::GlobBuilder;
use schemars::JsonSchema;
use serde::Deserialize;

use super::walk::walk;
use super::{Failure, Nature, Output, Scene, Tool};
use crate::workspace::FILE_BYTES;

/// More than this are not shown.
const FOUND: usize = 100;

/// How much of a line is shown.
const LINE_CHARS: usize = 300;

/// Searches files.
#[derive(Debug)]
pub(super) struct SearchFiles;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// A regular expression.
    pattern: String,
    /// The folder to begin in; the workspace itself if none is named.
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
    const NATURE: Nature = Nature::Reads;

    async fn run(&self, arguments: Arguments, scene: &Scene) -> Result<Output, Failure> {
        scene
            .on_files(move |workspace| {
                let Arguments { pattern, path, files } = arguments;
                let wanted = regex::Regex::new(&pattern).map_err(|error| Failure::new(error.to_string()))?;
                let glob = files.map(|files| GlobBuilder::new(&files).literal_separator(true).build()).transpose();
                let glob = glob.map_err(|error| Failure::new(error.to_string()))?.map(|glob| glob.compile_matcher());
                let mut found = Vec::new();
                let saw_all = walk(workspace, &path, |dir, name, path| {
                    if glob.as_ref().is_some_and(|glob| !glob.is_match(path)) {
                        return true;
                    }
                    let Ok(file) = crate::workspace::open(dir, name) else { return true };
                    let mut bytes = Vec::new();
                    if file.take(FILE_BYTES).read_to_end(&mut bytes).is_err()
                        || bytes.iter().take(8_000).any(|&byte| byte == 0)
                    {
                        return true;
                    }
                    for (at, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
                        if wanted.is_match(line) {
                            let line: String = line.trim_end().chars().take(LINE_CHARS).collect();
                            found.push(format!("{}:{}: {line}", path.display(), at + 1));
                        }
                        if found.len() >= FOUND {
                            return false;
                        }
                    }
                    true
                })?;
                if found.is_empty() {
                    return Ok(Output::text(format!("[no line matches {pattern}]")));
                }
                if !saw_all {
                    found.push("[there are more; use a narrower expression]".to_owned());
                }
                Ok(Output::text(found.join("\n")))
            })
            .await
    }
}
