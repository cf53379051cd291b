//! Converts the result of an MCP call to the parts of a message.

use base64::Engine as _;
use rmcp::model::{CallToolResult, ContentBlock, ImageContent, ResourceContents};
use waterline::message::{Body, Image, Part};
use waterline::truncate::{Truncation, truncate};

use crate::tool::{Failure, Output};

/// Image types that models accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Maximum number of blocks of a result.
const MAX_BLOCKS: usize = 500;

/// Maximum size of a result: its text and its encoded images.
const MAX_BYTES: usize = 8 << 20;

/// Reads the result of a call as a server sends it, and returns it for the model.
///
/// # Errors
/// When the text is not a result, or the result is an error.
pub fn read_result(json: &str) -> Result<Output, Failure> {
    let result = serde_json::from_str(json);
    output(result.map_err(|error| Failure::new(format!("Invalid result: {error}.")))?)
}

/// Returns the result for the model. What exceeds the limits is replaced by a marker.
pub(super) fn output(result: CallToolResult) -> Result<Output, Failure> {
    let failed = result.is_error == Some(true);
    let blocks = result.content.len();
    let mut left = MAX_BYTES;
    let kept = result.content.into_iter().take(MAX_BLOCKS).map(part);
    let mut parts: Vec<Part> = kept.map(|part| within(part, &mut left)).collect();
    if blocks > MAX_BLOCKS {
        parts.push(Part::text(format!("[only {MAX_BLOCKS} of {blocks} content blocks are shown]")));
    }
    if parts.is_empty() {
        // Structured content repeats the other content; it is used only without other content.
        let text = result
            .structured_content
            .map(|value| value.to_string())
            .unwrap_or_else(|| "[the tool returned no content]".to_owned());
        parts.push(within(Part::text(text), &mut left));
    }
    let output = Output { parts, ..Output::default() };
    match failed {
        false => Ok(output),
        true if output.text_content().is_empty() => {
            Err(Failure::new("The tool failed without an error message."))
        }
        true => Err(output.into_failure()),
    }
}

/// Returns a part, truncated to the bytes that are left.
fn within(part: Part, left: &mut usize) -> Part {
    let size = match &part.body {
        Body::Text(text) => text.len(),
        Body::Image(Image::Inline { data, .. }) => data.len(),
        _ => 0,
    };
    let fits = size <= *left;
    let start = *left;
    *left = left.saturating_sub(size);
    match part.body {
        _ if fits => part,
        Body::Text(text) => {
            let kept = text.get(..text.floor_char_boundary(start)).unwrap_or_default();
            match truncate(&text, &Truncation::new(kept.chars().count(), 0)) {
                Some(short) => short.into_part(),
                None => Part::text(text),
            }
        }
        _ => Part::text(format!("[omitted: the result is larger than {MAX_BYTES} bytes]")),
    }
}

fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) => image_part(image),
        ContentBlock::Audio(audio) => {
            Part::text(format!("[unsupported audio content: {}]", audio.mime_type))
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Part::text(text),
            ResourceContents::BlobResourceContents { uri, .. } => {
                Part::text(format!("[resource: {uri}]"))
            }
            _ => Part::text("[unsupported resource]"),
        },
        ContentBlock::ResourceLink(link) => Part::text(format!("[resource: {}]", link.uri)),
        _ => Part::text("[unsupported content]"),
    }
}

/// Returns an image, or a placeholder if it is invalid. A provider rejects requests with an invalid
/// image, and it would be in all later requests.
fn image_part(image: ImageContent) -> Part {
    let ImageContent { data, mime_type: media, .. } = image;
    let bytes = base64::engine::general_purpose::STANDARD.decode(&data);
    if IMAGE_TYPES.contains(&media.as_str()) && bytes.is_ok_and(|bytes| !bytes.is_empty()) {
        Body::Image(Image::Inline { media, data }).into()
    } else {
        Part::text(format!("[unsupported image content: {media}]"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(json: Value) -> Result<Output, Failure> {
        output(serde_json::from_value(json).unwrap())
    }

    #[test]
    fn a_result_is_limited_in_bytes_and_blocks() {
        let half = "潮".repeat(MAX_BYTES / 6);
        let texts = [&half, &half, &half].map(|text| json!({"type": "text", "text": text}));
        let parts = result(json!({"content": texts})).unwrap().parts;
        let Body::Text(last) = &parts[2].body else { unreachable!("a text") };
        let chars = MAX_BYTES / 6;
        assert!(last.ends_with(&format!("(truncated, {chars} chars total)")), "{last:.9}");
        let truncated = parts[2].truncated.as_deref().unwrap();
        assert_eq!((truncated.total, parts[0].truncated.as_deref()), (chars, None));
        assert!(last.len() < 200, "{}", last.len());
        let block = json!({"type": "text", "text": "a"});
        let many = result(json!({"content": vec![block; 5_000]})).unwrap().parts;
        assert_eq!(many.len(), MAX_BLOCKS + 1);
    }

    #[test]
    fn every_kind_of_content_is_converted() {
        let content = json!([
            {"type": "text", "text": "high at noon"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {"type": "image", "data": "no base64!", "mimeType": "image/png"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/svg+xml"},
            {"type": "audio", "data": "aGVsbG8=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "tide://table", "text": "low at six"}},
            {"type": "resource", "resource": {"uri": "tide://chart", "blob": "aGVsbG8="}},
            {"type": "resource_link", "uri": "tide://log", "name": "log"},
        ]);
        let output =
            result(json!({"content": content, "structuredContent": {"high": 12}})).unwrap();
        let image = Image::Inline { media: "image/png".to_owned(), data: "aGVsbG8=".to_owned() };
        assert_eq!(output.parts.len(), 8);
        assert_eq!(output.parts[1].body, Body::Image(image));
        let words = [
            "high at noon",
            "[unsupported image content: image/png]",
            "[unsupported image content: image/svg+xml]",
            "[unsupported audio content: audio/wav]",
            "low at six",
            "[resource: tide://chart]",
            "[resource: tide://log]",
        ];
        assert_eq!(output.text_content(), words.join("\n"));
    }

    #[test]
    fn structured_content_is_used_only_without_other_content() {
        assert_eq!(
            result(json!({"content": [], "structuredContent": {"high": 12}}))
                .unwrap()
                .text_content(),
            r#"{"high":12}"#
        );
        assert_eq!(
            result(json!({"content": []})).unwrap().text_content(),
            "[the tool returned no content]"
        );
    }

    #[test]
    fn an_error_result_is_a_failure() {
        let failure =
            result(json!({"content": [{"type": "text", "text": "no such port"}], "isError": true}))
                .unwrap_err();
        assert_eq!(failure, Failure::new("no such port"));
    }
}
