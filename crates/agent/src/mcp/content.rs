//! What a call gave, as the parts of a message.

use base64::Engine as _;
use rmcp::model::{CallToolResult, ContentBlock, ImageContent, ResourceContents};
use waterline::message::{Body, Image, Part};

use crate::tool::{Failure, Output};

/// Pictures that models look at.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The result for the model.
pub(super) fn output(result: CallToolResult) -> Result<Output, Failure> {
    let failed = result.is_error == Some(true);
    let mut parts: Vec<Part> = result.content.into_iter().map(part).collect();
    if parts.is_empty() {
        // Structured content repeats what the rest says; it counts only where there is no rest.
        let text = result.structured_content.map(|value| value.to_string());
        parts.push(Part::text(text.unwrap_or_else(|| "[the tool gave nothing back]".to_owned())));
    }
    let output = Output { parts, effects: Vec::new() };
    if !failed {
        return Ok(output);
    }
    let words = output.text_content();
    Err(Failure::new(if words.is_empty() {
        "the tool failed and did not say why".to_owned()
    } else {
        words
    }))
}

fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) => picture(image),
        ContentBlock::Audio(audio) => {
            Part::text(format!("[sound that cannot be heard here: {}]", audio.mime_type))
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Part::text(text),
            ResourceContents::BlobResourceContents { uri, .. } => {
                Part::text(format!("[resource: {uri}]"))
            }
            _ => Part::text("[a resource of an unknown kind]"),
        },
        ContentBlock::ResourceLink(link) => Part::text(format!("[resource: {}]", link.uri)),
        _ => Part::text("[content of an unknown kind]"),
    }
}

/// A picture, if it is one: a provider refuses a request with a broken one, and it would be in all
/// that follow.
fn picture(image: ImageContent) -> Part {
    let ImageContent { data, mime_type: media, .. } = image;
    let bytes = base64::engine::general_purpose::STANDARD.decode(&data);
    if PICTURES.contains(&media.as_str()) && bytes.is_ok_and(|bytes| !bytes.is_empty()) {
        Body::Image(Image::Inline { media, data }).into()
    } else {
        Part::text(format!("[picture that cannot be shown here: {media}]"))
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
    fn every_kind_of_content_has_its_part() {
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
            "[picture that cannot be shown here: image/png]",
            "[picture that cannot be shown here: image/svg+xml]",
            "[sound that cannot be heard here: audio/wav]",
            "low at six",
            "[resource: tide://chart]",
            "[resource: tide://log]",
        ];
        assert_eq!(output.text_content(), words.join("\n"));
    }

    #[test]
    fn structured_content_counts_where_there_is_no_other() {
        assert_eq!(
            result(json!({"content": [], "structuredContent": {"high": 12}}))
                .unwrap()
                .text_content(),
            r#"{"high":12}"#
        );
        assert_eq!(
            result(json!({"content": []})).unwrap().text_content(),
            "[the tool gave nothing back]"
        );
    }

    #[test]
    fn a_result_that_says_it_is_an_error_is_a_failure() {
        let failure =
            result(json!({"content": [{"type": "text", "text": "no such port"}], "isError": true}))
                .unwrap_err();
        assert_eq!(failure, Failure::new("no such port"));
    }
}
