//! JSON without loss: objects whose keys keep their order and whose values stay text, and strings that
//! survive lone surrogates. `serde_json::Value` would reformat numbers and refuse such strings.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of one JSON object, in their order, values untouched.
#[derive(Debug, Default)]
pub struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The fields of `json`, or `None` when it is not an object.
    #[must_use]
    pub fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    /// Takes a field out; what is left at the end is what the reader did not know.
    pub fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1.get())
    }

    /// Takes a string field out. A field that is no string stays where it is.
    pub fn take_string(&mut self, name: &str) -> Option<Loose> {
        let text = string(self.get(name)?)?;
        self.take(name);
        Some(text)
    }

    /// All fields in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.get()))
    }

    /// What is left, as owned text.
    #[must_use]
    pub fn into_rest(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect()
    }

    /// How many fields there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
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
                while let Some((key, value)) = map.next_entry::<Loose, &'de RawValue>()? {
                    fields.push((key.text, value));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// A string in which lone surrogates were replaced by U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    /// The text.
    pub text: String,
    /// Whether anything was replaced, so that the original bytes cannot be sent on.
    pub mended: bool,
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LooseVisitor;

        impl Visitor<'_> for LooseVisitor {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose { text: text.to_owned(), mended: false })
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Loose, E> {
                Ok(match std::str::from_utf8(bytes) {
                    Ok(text) => Loose { text: text.to_owned(), mended: false },
                    Err(_) => Loose { text: mend(bytes), mended: true },
                })
            }
        }

        // As bytes, serde_json hands lone surrogates over instead of refusing the whole string.
        deserializer.deserialize_bytes(LooseVisitor)
    }
}

/// Replaces each encoded surrogate (ED A0..BF xx) by one U+FFFD.
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

/// The string that a JSON text is, or `None` when it is something else.
#[must_use]
pub fn string(json: &str) -> Option<Loose> {
    json.trim_start().starts_with('"').then(|| serde_json::from_str(json).ok())?
}

/// The elements of a JSON array, untouched, or `None` when it is something else.
#[must_use]
pub fn elements(json: &str) -> Option<Vec<&str>> {
    let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(list.into_iter().map(RawValue::get).collect())
}

/// Whether a JSON text is `null`.
#[must_use]
pub fn is_null(json: &str) -> bool {
    json.trim() == "null"
}

/// Whether a text is one complete JSON object, which serde's readers also accept (depth, strings).
#[must_use]
pub fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A text as a JSON string.
#[must_use]
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes an object from fields that are JSON text already.
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

/// Writes an array from elements that are JSON text already.
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

/// The same JSON on one line: line breaks between tokens go, everything else stays byte for byte.
#[must_use]
pub fn one_line(json: &str) -> std::borrow::Cow<'_, str> {
    // A raw line break cannot stand inside a JSON string, so each one is white space between tokens.
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
    fn lone_surrogates_become_one_replacement_each() {
        let loose = string(r#""a\ud800b\udc00c 😀""#).unwrap();
        assert_eq!(loose, Loose { text: "a\u{FFFD}b\u{FFFD}c 😀".into(), mended: true });
        assert!(!string(r#""\ud83d\ude00""#).unwrap().mended);
    }

    #[test]
    fn a_key_with_a_lone_surrogate_is_read() {
        assert_eq!(Fields::parse(r#"{"\ud800":1}"#).unwrap().get("\u{FFFD}"), Some("1"));
    }

    #[test]
    fn one_line_touches_only_breaks_between_tokens() {
        assert_eq!(one_line("{\n  \"a\": \"x\\n y\",\r\n  \"b\": 1\n}"), r#"{"a": "x\n y","b": 1}"#);
    }
}
