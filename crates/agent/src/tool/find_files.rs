//! `find_files`: files by their names.

use globset::GlobBuilder;
use schemars::JsonSchema;
use serde::Deserialize;

use super::walk::walk;
use super::{Failure, Nature, Output, Scene, Tool};

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
    const NATURE: Nature = Nature::Reads;

    async fn run(&self, arguments: Arguments, scene: &Scene) -> Result<Output, Failure> {
        scene
            .on_files(move |workspace| {
                let glob = GlobBuilder::new(&arguments.pattern).literal_separator(true).build();
                let glob = glob.map_err(|error| Failure::new(error.to_string()))?.compile_matcher();
                let mut found = Vec::new();
                let saw_all = walk(workspace, &arguments.path, |_, _, path| {
                    if glob.is_match(path) {
                        found.push(path.display().to_string());
                    }
                    found.len() < FOUND
                })?;
                if found.is_empty() {
                    return Ok(Output::text(format!("[no file looks like {}]", arguments.pattern)));
                }
                if !saw_all {
                    found.push("[there are more; use a narrower pattern]".to_owned());
                }
                Ok(Output::text(found.join("\n")))
            })
            .await
    }
}
