//! `read_artifact`: an output that was too large to be shown, part by part.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Nature, Output, Scene, Tool};

/// How much is given at once.
const CHARS: usize = 8_000;

/// Reads artifacts.
#[derive(Debug)]
pub(super) struct ReadArtifact;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The handle; its first eight digits are enough.
    artifact: String,
    /// The first character, from 0.
    #[serde(default)]
    from: usize,
    /// Only the lines that hold this text, each with its number.
    #[serde(default)]
    find: Option<String>,
}

impl Tool for ReadArtifact {
    type Arguments = Arguments;
    const NAME: &'static str = "read_artifact";
    const ABOUT: &'static str =
        "Read an output that was too large to be shown whole: from a character on, or the lines that hold a text.";
    const NATURE: Nature = Nature::Reads;

    async fn run(&self, arguments: Arguments, scene: &Scene) -> Result<Output, Failure> {
        let Arguments { artifact, from, find } = arguments;
        let (id, wanted) = (scene.session.id.clone(), artifact.trim().to_ascii_lowercase());
        let bytes = scene.on_log(move |log| {
            // Only those of this session: a handle from elsewhere opens nothing.
            let known = log.artifacts(&id)?;
            let found = known.iter().find(|known| wanted.len() >= 8 && known.hash.starts_with(&wanted));
            found.map(|found| log.artifact(&found.hash)).transpose()
        });
        let bytes = bytes.await?.ok_or_else(|| Failure::new(format!("this session has no artifact {artifact:?}")))?;
        let text = String::from_utf8_lossy(&bytes);
        if let Some(find) = find {
            let lines = text.lines().enumerate().filter(|(_, line)| line.contains(&find));
            let found: Vec<String> = lines.map(|(at, line)| format!("{}: {line}", at + 1)).collect();
            if found.is_empty() {
                return Ok(Output::text(format!("[no line holds {find:?}]")));
            }
            return Ok(Output::text(found.join("\n").chars().take(CHARS).collect::<String>()));
        }
        let all = text.chars().count();
        if from >= all {
            return Err(Failure::new(format!("the artifact has {all} characters")));
        }
        let part: String = text.chars().skip(from).take(CHARS).collect();
        let until = from + part.chars().count();
        Ok(Output::text(format!("[characters {from} to {until} of {all}]\n{part}")))
    }
}
