//! Reading fields the way real clients write them: wrong types, missing values and broken strings
//! are noted, not refused.

use waterline::json::{self, Fields, LossyString};
use waterline::message::{Form, Image, Message, Part, Role};
use waterline::warning::Oddity;

/// Why a value is no message.
#[derive(Debug)]
pub struct Refusal(pub(super) String);

impl Refusal {
    /// What is wrong with it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Notes what was odd while one message is read.
#[derive(Debug, Default)]
pub struct Reader {
    /// What was odd; the parts no longer say what the bytes say.
    pub(super) oddities: Vec<(Oddity, String)>,
}

impl Reader {
    /// Notes something odd: the message is then written anew, not sent as the bytes it came in.
    pub fn note(&mut self, oddity: Oddity, text: impl Into<String>) {
        self.oddities.push((oddity, text.into()));
    }

    /// A string that was read, whatever was wrong with it.
    pub fn text(&mut self, loose: LossyString) -> String {
        if loose.mended {
            self.note(Oddity::LoneSurrogate, "half of a UTF-16 pair was replaced");
        }
        loose.text
    }

    /// Takes a string field. A number or the like is taken as its text, and noted; null is nothing.
    pub fn take(&mut self, fields: &mut Fields<'_>, name: &str) -> Option<String> {
        let value = fields.take(name)?;
        if let Some(loose) = json::string(value) {
            return Some(self.text(loose));
        }
        if json::is_null(value) {
            return None;
        }
        self.note(Oddity::WrongType, format!("{name} is no text"));
        Some(value.to_owned())
    }

    /// Content that is a text or a list of parts; anything else is noted.
    pub fn content(
        &mut self,
        content: Option<&str>,
        part: fn(&str, &mut Self) -> Option<Part>,
    ) -> Vec<Part> {
        let content = content.unwrap_or("null");
        if let Some(loose) = json::string(content) {
            let text = self.text(loose);
            return if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
        }
        if let Some(list) = json::elements(content) {
            return list.into_iter().filter_map(|json| part(json, self)).collect();
        }
        if json::is_null(content) {
            self.note(Oddity::NullContent, "there is no content");
            return Vec::new();
        }
        self.note(Oddity::WrongType, "content is neither text nor a list; sent as text");
        vec![Part::text(content)]
    }

    /// A message with these parts; what was odd decides whether its bytes can be sent as they are.
    #[must_use]
    pub fn message(&self, role: Role, mut parts: Vec<Part>, extra: Fields<'_>) -> Message {
        // A conversation holds many of these for long: what a growing list reserved is given back.
        parts.shrink_to_fit();
        let form = if self.oddities.is_empty() { Form::AsReceived } else { Form::Changed };
        Message { role, parts, extra: extra.into_rest(), raw: None, form }
    }
}

/// The fields of a JSON object, or why there are none.
pub(super) fn object(json: &str) -> Result<Fields<'_>, Refusal> {
    Fields::parse(json).ok_or_else(|| Refusal::new("expected a message object"))
}

/// The `type` of a part, if it has one.
pub(super) fn kind(fields: &Fields<'_>) -> String {
    fields.get("type").and_then(json::string).map(|loose| loose.text).unwrap_or_default()
}

/// A picture from a `data:` address or another one.
pub(super) fn image(url: &str) -> Image {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media, data)) => Image::Inline { media: media.to_owned(), data: data.to_owned() },
        None => Image::Url(url.to_owned()),
    }
}

/// A string field; empty where there is none.
pub(super) fn word(fields: &Fields<'_>, name: &str) -> String {
    fields.get(name).and_then(json::string).map(|loose| loose.text).unwrap_or_default()
}

/// A number field.
pub(super) fn number(fields: &Fields<'_>, name: &str) -> Option<usize> {
    fields.get(name).and_then(|value| value.parse().ok())
}
