//! Lossless JSON: objects whose keys keep their order and whose values stay text, and strings with
//! lone surrogates. `serde_json::Value` would reformat numbers and reject such strings.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of a JSON object, in their order, with unchanged values.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Parses an object. Returns `None` if `json` is not one.
    #[must_use]
    pub fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Returns the value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    /// Removes a field and returns its value. What is left at the end are the unknown fields.
    pub fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1.get())
    }

    /// Removes a string field and returns its value. A field that is not a string stays.
    pub fn take_string(&mut self, name: &str) -> Option<LossyString> {
        let text = string(self.get(name)?)?;
        self.take(name);
        Some(text)
    }

    /// Returns all fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.get()))
    }

    /// Returns the remaining fields as owned text.
    #[must_use]
    pub fn into_rest(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect()
    }

    /// Returns the number of fields.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the object is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<LossyString, &'de RawValue>()? {
                    fields.push((key.text, value));
                }
                Ok(Fields(last_of_each(fields)))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Keeps the last of several fields with the same name, as other JSON parsers do.
fn last_of_each<'a>(fields: Vec<(String, &'a RawValue)>) -> Vec<(String, &'a RawValue)> {
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).all(|pair| !matches!(pair, [a, b] if a == b)) {
        return fields;
    }
    let mut last: FxHashMap<String, &'a RawValue> = fields.iter().cloned().collect();
    fields.into_iter().filter_map(|(name, _)| last.remove_entry(&name)).collect()
}

/// A string in which lone surrogates are replaced by U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LossyString {
    /// The string, with a replacement for each lone surrogate.
    pub text: String,
    /// Whether anything was replaced. If so, the original bytes cannot be forwarded.
    pub mended: bool,
}

impl<'de> Deserialize<'de> for LossyString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LossyVisitor;

        impl Visitor<'_> for LossyVisitor {
            type Value = LossyString;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<LossyString, E> {
                Ok(LossyString { text: text.to_owned(), mended: false })
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LossyString, E> {
                Ok(match std::str::from_utf8(bytes) {
                    Ok(text) => LossyString { text: text.to_owned(), mended: false },
                    Err(_) => LossyString { text: mend(bytes), mended: true },
                })
            }
        }

        // serde_json accepts lone surrogates in bytes, but rejects them in strings.
        deserializer.deserialize_bytes(LossyVisitor)
    }
}

/// Replaces each encoded surrogate (ED A0..BF xx) with U+FFFD.
fn mend(bytes: &[u8]) -> String {
    let mut mended = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (0xED, [0xA0..=0xBF, _, after @ ..]) => {
                mended.extend_from_slice("\u{FFFD}".as_bytes());
                rest = after;
            }
            _ => {
                mended.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&mended).into_owned()
}

/// Parses a JSON string. Returns `None` if `json` is something else.
#[must_use]
pub fn string(json: &str) -> Option<LossyString> {
    json.trim_start().starts_with('"').then(|| serde_json::from_str(json).ok())?
}

/// Returns the unchanged elements of a JSON array, or `None` if `json` is something else.
#[must_use]
pub fn elements(json: &str) -> Option<Vec<&str>> {
    let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(list.into_iter().map(RawValue::get).collect())
}

/// Returns whether a JSON text is `null`.
#[must_use]
pub fn is_null(json: &str) -> bool {
    json.trim() == "null"
}

/// Replaces escapes of lone surrogates in a JSON text. Returns `None` if there are none.
#[must_use]
pub fn mend_escapes(json: &str) -> Option<String> {
    if !json.contains("\\u") {
        return None;
    }
    let mut mended = String::with_capacity(json.len());
    let mut rest = json;
    let mut changed = false;
    while let Some((before, after)) = rest.split_once('\\') {
        mended.push_str(before);
        let length = match (
            unit(after),
            after.get(5..).and_then(|next| next.strip_prefix('\\')).and_then(unit),
        ) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 11,
            (Some(0xD800..=0xDFFF), _) => {
                changed = true;
                mended.push_str("\\ufffd");
                rest = after.get(5..).unwrap_or_default();
                continue;
            }
            _ => after.chars().next().map_or(0, char::len_utf8),
        };
        mended.push('\\');
        mended.push_str(after.get(..length).unwrap_or_default());
        rest = after.get(length..).unwrap_or_default();
    }
    mended.push_str(rest);
    changed.then_some(mended)
}

/// Returns the UTF-16 code unit of `uXXXX`.
fn unit(escape: &str) -> Option<u16> {
    u16::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok()
}

/// Returns whether a text is one complete JSON object.
#[must_use]
pub fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Returns a text as a JSON string.
#[must_use]
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes an object from fields whose values are JSON text.
#[must_use]
pub fn object<K: AsRef<str>, V: AsRef<str>>(fields: impl IntoIterator<Item = (K, V)>) -> String {
    let mut json = String::from("{");
    for (key, value) in fields {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&quote(key.as_ref()));
        json.push(':');
        json.push_str(value.as_ref());
    }
    json.push('}');
    json
}

/// Writes an array from elements that are JSON text.
#[must_use]
pub fn array<V: AsRef<str>>(elements: impl IntoIterator<Item = V>) -> String {
    let mut json = String::from("[");
    for element in elements {
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(element.as_ref());
    }
    json.push(']');
    json
}

/// Puts a JSON text on one line: removes line breaks between tokens and the indentation after them,
/// and nothing else.
#[must_use]
pub fn one_line(json: &str) -> std::borrow::Cow<'_, str> {
    // A JSON string cannot contain a raw line break, so each one is white space between tokens.
    if json.contains(['\n', '\r']) {
        json.lines().map(str::trim_start).collect::<String>().replace('\r', "").into()
    } else {
        json.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_order_and_number_text() {
        let fields = Fields::parse(r#"{"b":1.0,"a":1152921504606846976,"c":1e3}"#).unwrap();
        let pairs: Vec<_> = fields.iter().collect();
        assert_eq!(pairs, [("b", "1.0"), ("a", "1152921504606846976"), ("c", "1e3")]);
    }

    #[test]
    fn the_last_of_two_fields_with_the_same_name_counts() {
        let fields = Fields::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("a", "3"), ("b", "2")]);
    }

    #[test]
    fn lone_surrogates_become_one_replacement_each() {
        let lossy = string(r#""a\ud800b\udc00c 😀""#).unwrap();
        assert_eq!(lossy, LossyString { text: "a\u{FFFD}b\u{FFFD}c 😀".into(), mended: true });
        assert!(!string(r#""\ud83d\ude00""#).unwrap().mended);
    }

    #[test]
    fn a_key_with_a_lone_surrogate_is_parsed() {
        assert_eq!(Fields::parse(r#"{"\ud800":1}"#).unwrap().get("\u{FFFD}"), Some("1"));
    }

    #[test]
    fn escaped_lone_surrogates_are_replaced() {
        let mend = |json: &str| mend_escapes(json).unwrap_or_else(|| json.to_owned());
        assert_eq!(mend(r#"{"a":"\ud83d"}"#), r#"{"a":"\ufffd"}"#);
        assert_eq!(mend(r#"{"a":"\ud83d\ude00 \udc00x"}"#), r#"{"a":"\ud83d\ude00 \ufffdx"}"#);
        assert_eq!(
            mend(r#""\\ud83d stays: the backslash is escaped""#),
            r#""\\ud83d stays: the backslash is escaped""#
        );
        assert_eq!(mend_escapes(r#"{"a":"\u00e9\n"}"#), None);
        assert_eq!(mend(r#""\ud83"#), r#""\ud83"#);
    }

    #[test]
    fn one_line_touches_only_breaks_between_tokens() {
        assert_eq!(
            one_line("{\n  \"a\": \"x\\n y\",\r\n  \"b\": 1\n}"),
            r#"{"a": "x\n y","b": 1}"#
        );
    }
}
