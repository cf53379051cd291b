//! Lenient reading of fields as real clients write them: wrong types, missing values and invalid
//! strings become warnings, not errors.

use waterline::json::{self, Fields, LossyString};
use waterline::message::{Form, Image, Message, Part, Role};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::warning::WarningKind;

/// Why a value is not a message.
#[derive(Debug)]
pub struct Refusal(pub(super) Phrase);

impl Refusal {
    /// Creates a refusal with the reason.
    pub fn new(text: impl Into<Phrase>) -> Self {
        Self(text.into())
    }
}

/// Collects warnings while one message is read.
#[derive(Debug, Default)]
pub struct Reader {
    /// The warnings. If there are any, the parts differ from the original bytes.
    pub(super) irregularities: Vec<(WarningKind, Phrase)>,
}

impl Reader {
    /// Adds a warning. The message is then rendered anew instead of sent as its original bytes.
    pub fn note(&mut self, kind: WarningKind, text: impl Into<Phrase>) {
        self.irregularities.push((kind, text.into()));
    }

    /// Returns a string, with a warning if it was invalid.
    pub fn text(&mut self, lossy: LossyString) -> String {
        if lossy.mended {
            self.note(
                WarningKind::LoneSurrogate,
                phrase!("warning-half-pair", "half of a UTF-16 pair was replaced"),
            );
        }
        lossy.text
    }

    /// Takes a string field. Another value becomes its JSON text, with a warning; null is `None`.
    pub fn take(&mut self, fields: &mut Fields<'_>, name: &str) -> Option<String> {
        let value = fields.take(name)?;
        if let Some(lossy) = json::string(value) {
            return Some(self.text(lossy));
        }
        if json::is_null(value) {
            return None;
        }
        self.note(
            WarningKind::WrongType,
            phrase!("warning-not-a-string", "{name} is not a string", name = name),
        );
        Some(value.to_owned())
    }

    /// Reads content that is a text or a list of parts; warns about anything else.
    pub fn content(
        &mut self,
        content: Option<&str>,
        part: fn(&str, &mut Self) -> Option<Part>,
    ) -> Vec<Part> {
        let content = content.unwrap_or("null");
        if let Some(lossy) = json::string(content) {
            let text = self.text(lossy);
            return if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
        }
        if let Some(list) = json::elements(content) {
            return list.into_iter().filter_map(|json| part(json, self)).collect();
        }
        if json::is_null(content) {
            self.note(
                WarningKind::NullContent,
                phrase!("warning-missing-content", "missing content"),
            );
            return Vec::new();
        }
        self.note(
            WarningKind::WrongType,
            phrase!("warning-odd-content", "content is neither a string nor a list; sent as text"),
        );
        vec![Part::text(content)]
    }

    /// Creates a message. With warnings, its original bytes cannot be sent unchanged.
    #[must_use]
    pub fn message(&self, role: Role, mut parts: Vec<Part>, extra: Fields<'_>) -> Message {
        // A conversation keeps many of these for long, so release the spare capacity.
        parts.shrink_to_fit();
        let form = if self.irregularities.is_empty() { Form::AsReceived } else { Form::Changed };
        Message { role, parts, extra: extra.into_rest(), raw: None, form }
    }
}

/// Parses the fields of a JSON object.
pub(super) fn object(json: &str) -> Result<Fields<'_>, Refusal> {
    Fields::parse(json)
        .ok_or_else(|| Refusal::new(phrase!("parse-no-object", "expected a message object")))
}

/// Returns the `type` of a part; empty if missing.
pub(super) fn kind(fields: &Fields<'_>) -> String {
    fields.get("type").and_then(json::string).map(|lossy| lossy.text).unwrap_or_default()
}

/// Reads an image from a `data:` or any other URL.
pub(super) fn image(url: &str) -> Image {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media, data)) => Image::Inline { media: media.to_owned(), data: data.to_owned() },
        None => Image::Url(url.to_owned()),
    }
}

/// Returns a string field; empty if missing.
pub(super) fn string_field(fields: &Fields<'_>, name: &str) -> String {
    fields.get(name).and_then(json::string).map(|lossy| lossy.text).unwrap_or_default()
}

/// Returns a number field.
pub(super) fn number(fields: &Fields<'_>, name: &str) -> Option<usize> {
    fields.get(name).and_then(|value| value.parse().ok())
}
