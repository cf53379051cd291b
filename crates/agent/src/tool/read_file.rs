//! `read_file`: a file of the workspace, whole or some lines of it; a picture as a picture.

use base64::Engine as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline::message::Image;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use waterline_sandbox::workspace::Workspace;

/// Reads a file.
#[derive(Debug)]
pub(super) struct ReadFile;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file: relative to the workspace, or absolute inside a folder that was granted.
    path: String,
    /// The first line, from 1.
    #[serde(default)]
    from_line: Option<usize>,
    /// How many lines, at least 1.
    #[serde(default)]
    lines: Option<usize>,
}

impl Tool for ReadFile {
    type Arguments = Arguments;
    const NAME: &'static str = "read_file";
    const ABOUT: &'static str =
        "Read a text file, or a picture. For a long file give from_line and lines.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context.on_files(move |workspace| read(workspace, &arguments)).await
    }
}

/// A file: a picture as one, any other as text.
fn read(workspace: &Workspace, arguments: &Arguments) -> Result<Output, Failure> {
    let path = &arguments.path;
    if let Some(media) = picture(path) {
        let data = base64::engine::general_purpose::STANDARD.encode(workspace.read(path)?);
        return Ok(Output::image(
            format!("[Image: {path}]"),
            Image::Inline { media: media.to_owned(), data },
        ));
    }
    read_text(workspace, arguments).map(Output::text)
}

/// A text, whole or some lines of it.
fn read_text(workspace: &Workspace, arguments: &Arguments) -> Result<String, Failure> {
    let Arguments { path, from_line, lines } = arguments;
    if *lines == Some(0) {
        return Err(Failure::new(
            "lines must be 1 or more; leave it out to read up to the end of the file",
        ));
    }
    let text = workspace.read_text(path)?;
    let note = if text.lossy { "[some bytes of this file are no text]\n" } else { "" };
    if from_line.is_none() && lines.is_none() {
        let words = if text.text.is_empty() { "[the file is empty]" } else { &text.text };
        return Ok(format!("{note}{words}"));
    }
    let first = from_line.unwrap_or(1).max(1);
    let all = text.text.lines().count();
    let part: Vec<&str> =
        text.text.lines().skip(first - 1).take(lines.unwrap_or(usize::MAX)).collect();
    if part.is_empty() {
        return Err(Failure::new(format!("{path} has {all} lines; line {first} is not there")));
    }
    let last = first + part.len() - 1;
    Ok(format!("{note}[lines {first} to {last} of {all}]\n{}", part.join("\n")))
}

/// The media type of a picture, by the ending of its name.
pub(crate) fn picture(path: &str) -> Option<&'static str> {
    let ending = path.rsplit_once('.')?.1.to_ascii_lowercase();
    match ending.as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_from_where_and_as_many_as_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), "s", &[]).unwrap();
        workspace.write("a.txt", b"one\ntwo\nthree\nfour\n").unwrap();
        let read = |from_line: Option<usize>, lines: Option<usize>| {
            let arguments = Arguments { path: "a.txt".to_owned(), from_line, lines };
            read_text(&workspace, &arguments).map_err(|failure| failure.text)
        };
        assert_eq!(read(None, None).unwrap(), "one\ntwo\nthree\nfour\n");
        assert_eq!(read(Some(2), Some(2)).unwrap(), "[lines 2 to 3 of 4]\ntwo\nthree");
        assert_eq!(read(Some(0), Some(1)).unwrap(), "[lines 1 to 1 of 4]\none");
        assert_eq!(read(Some(5), None).unwrap_err(), "a.txt has 4 lines; line 5 is not there");
        assert!(read(None, Some(0)).unwrap_err().contains("lines must be 1 or more"));
        assert!(read(Some(2), Some(0)).unwrap_err().contains("lines must be 1 or more"));
    }
}
