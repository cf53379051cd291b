//! `edit_file`: one text of a file replaced by another.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Nature, Output, Scene, Tool};

/// Edits a file.
#[derive(Debug)]
pub(super) struct EditFile;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file.
    path: String,
    /// The text to replace, exactly as it stands in the file, with enough around it to be found once.
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
    const ABOUT: &'static str =
        "Replace a text in a file by another. The old text must stand in the file exactly once, unless all is true.";
    const NATURE: Nature = Nature::Writes;

    async fn run(&self, arguments: Arguments, scene: &Scene) -> Result<Output, Failure> {
        scene
            .on_files(move |workspace| {
                let Arguments { path, old, new, all } = arguments;
                let file = workspace.read_text(&path)?;
                if file.lossy {
                    return Err(Failure::new(format!(
                        "{path} holds bytes that are no text; it cannot be edited as one"
                    )));
                }
                if old.is_empty() {
                    return Err(Failure::new("old is empty; write_file writes a file whole"));
                }
                let found = file.text.matches(&old).count();
                match found {
                    0 => {
                        return Err(Failure::new(format!(
                            "the old text does not stand in {path}; read the file again"
                        )));
                    }
                    1 => {}
                    _ if all => {}
                    _ => {
                        return Err(Failure::new(format!(
                            "the old text stands in {path} {found} times; give more of what is around it, or set all"
                        )));
                    }
                }
                let line = file
                    .text
                    .find(&old)
                    .and_then(|at| file.text.get(..at))
                    .map_or(1, |before| before.lines().count().max(1));
                workspace.write(&path, file.text.replace(&old, &new).as_bytes())?;
                let times = if found == 1 { String::new() } else { format!(", {found} times") };
                Ok(Output::text(format!("edited {path} at line {line}{times}")))
            })
            .await
    }
}
