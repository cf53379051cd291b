//! `read_file`: reads a text file, or some lines of it, or an image.

use base64::Engine as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use waterline::message::Image;

use super::{Capability, Failure, Output, Subject, Tool, ToolContext};
use waterline_sandbox::workspace::Workspace;

#[derive(Debug)]
pub(super) struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The file: relative to the working directory, or absolute.
    path: String,
    /// The first line to read, counted from 1. Default: 1.
    #[serde(default)]
    from_line: Option<usize>,
    /// The number of lines to read, at least 1. Default: to the end of the file.
    #[serde(default)]
    lines: Option<usize>,
}

impl Tool for ReadFile {
    type Arguments = Arguments;
    const NAME: &'static str = "read_file";
    const ABOUT: &'static str = "\
        Read a text file or an image (PNG, JPEG, GIF, WebP). Use `from_line` and `lines` to read \
        part of a long file. Lines are returned without line numbers. Files up to 10 MB; long text \
        is truncated, and `read_artifact` returns the rest.";
    const CAPABILITY: Capability = Capability::Read;

    fn subject(arguments: &Value) -> Subject {
        Subject::of_path(arguments)
    }

    async fn run(&self, arguments: Arguments, context: &ToolContext) -> Result<Output, Failure> {
        context.on_files(move |workspace| read(workspace, &arguments)).await
    }
}

/// Reads an image as an image, any other file as text.
fn read(workspace: &Workspace, arguments: &Arguments) -> Result<Output, Failure> {
    let path = &arguments.path;
    if let Some(media) = image_media_type(path) {
        let data = base64::engine::general_purpose::STANDARD.encode(workspace.read(path)?);
        return Ok(Output::image(
            format!("[Image: {path}]"),
            Image::Inline { media: media.to_owned(), data },
        ));
    }
    read_text(workspace, arguments).map(Output::text)
}

/// Reads a text file, or some lines of it.
fn read_text(workspace: &Workspace, arguments: &Arguments) -> Result<String, Failure> {
    let Arguments { path, from_line, lines } = arguments;
    if *lines == Some(0) {
        return Err(Failure::new(
            "`lines` must be at least 1. Omit it to read to the end of the file.",
        ));
    }
    let text = workspace.read_text(path)?;
    let note = if text.lossy {
        "[this file is not valid UTF-8; invalid bytes were replaced]\n"
    } else {
        ""
    };
    if from_line.is_none() && lines.is_none() {
        let shown = if text.text.is_empty() { "[the file is empty]" } else { &text.text };
        return Ok(format!("{note}{shown}"));
    }
    let first = from_line.unwrap_or(1).max(1);
    let all = text.text.lines().count();
    let part: Vec<&str> =
        text.text.lines().skip(first - 1).take(lines.unwrap_or(usize::MAX)).collect();
    if part.is_empty() {
        let unit = if all == 1 { "line" } else { "lines" };
        return Err(Failure::new(format!(
            "{path} has {all} {unit}; cannot read from line {first}."
        )));
    }
    let last = first + part.len() - 1;
    Ok(format!("{note}[lines {first} to {last} of {all}]\n{}", part.join("\n")))
}

/// Returns the media type of an image, by its file extension.
pub(crate) fn image_media_type(path: &str) -> Option<&'static str> {
    let extension = path.rsplit_once('.')?.1.to_ascii_lowercase();
    match extension.as_str() {
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
    fn lines_can_be_selected() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), "s", &[]).unwrap();
        workspace.write("a.txt", b"one\ntwo\nthree\nfour\n").unwrap();
        let read = |from_line: Option<usize>, lines: Option<usize>| {
            let arguments = Arguments { path: "a.txt".to_owned(), from_line, lines };
            read_text(&workspace, &arguments).map_err(|failure| failure.text)
        };
        assert_eq!(read(None, None).unwrap(), "one\ntwo\nthree\nfour\n");
        assert_eq!(read(Some(2), Some(2)).unwrap(), "[lines 2 to 3 of 4]\ntwo\nthree");
        assert_eq!(read(Some(0), Some(1)).unwrap(), "[lines 1 to 1 of 4]\none");
        assert_eq!(read(Some(5), None).unwrap_err(), "a.txt has 4 lines; cannot read from line 5.");
        assert!(read(None, Some(0)).unwrap_err().contains("`lines` must be at least 1"));
        assert!(read(Some(2), Some(0)).unwrap_err().contains("`lines` must be at least 1"));
    }
}
