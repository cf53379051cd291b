//! Canonical JSON: no white space between tokens, members sorted by name, one way to escape
//! strings, numbers unchanged. Clients that format the same message differently thus get the same
//! id.
//!
//! The members are not interpreted, so ids do not change when a parser learns new members.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use waterline::json;

/// Returns the canonical bytes of a message. Bytes that are not JSON are returned unchanged.
pub(crate) fn canonical(bytes: &[u8]) -> Cow<'_, [u8]> {
    // The parser rejects deep nesting, so the recursion below is bounded.
    match std::str::from_utf8(bytes) {
        Ok(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            let mut out = String::with_capacity(text.len());
            write(text, &mut out);
            Cow::Owned(out.into_bytes())
        }
        _ => Cow::Borrowed(bytes),
    }
}

fn write(json: &str, out: &mut String) {
    let json = json.trim();
    match json.as_bytes().first() {
        Some(b'{') => write_object(json, out),
        Some(b'[') => {
            out.push('[');
            for (at, element) in json::elements(json).unwrap_or_default().into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        Some(b'"') if json.contains('\\') => write_string(json, out),
        _ => out.push_str(json),
    }
}

/// Duplicate members are kept: it is up to the reader which one counts.
fn write_object(json: &str, out: &mut String) {
    let Members(mut members) = serde_json::from_str(json).unwrap_or_default();
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    out.push('{');
    for (at, (name, value)) in members.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(name);
        out.push(':');
        write(value.get(), out);
    }
    out.push('}');
}

/// A string with an unpaired surrogate is kept unchanged, because only an escape can represent it.
fn write_string(json: &str, out: &mut String) {
    match json::string(json) {
        Some(loose) if !loose.mended => out.push_str(&json::quote(&loose.text)),
        _ => out.push_str(json),
    }
}

/// The members of an object, with their names in canonical form.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) =
                    map.next_entry::<json::LossyString, &'de RawValue>()?
                {
                    members.push((json::quote(&name.text), value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        String::from_utf8(canonical(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn formatting_does_not_matter_and_values_do() {
        assert_eq!(
            of("{ \"b\" : [1, 2.50 ,1e3],\n \"a\":\"\\u00e9\\/\\n\" }"),
            "{\"a\":\"é/\\n\",\"b\":[1,2.50,1e3]}"
        );
        assert_ne!(of(r#"{"n":12345678901234567890123}"#), of(r#"{"n":12345678901234567890124}"#));
        assert_ne!(of(r#"{"a":1,"a":2}"#), of(r#"{"a":2}"#));
        assert_ne!(of(r#"["\ud800"]"#), of(r#"["\ud801"]"#));
    }

    #[test]
    fn bytes_that_are_not_json_are_unchanged() {
        for odd in ["", "{\"a\":", "\0", "[1,]", &"[".repeat(100_000)] {
            assert_eq!(of(odd), odd);
        }
        assert_eq!(&*canonical(b"\xff\xfe"), b"\xff\xfe");
    }

    #[test]
    fn canonical_form_is_stable() {
        let once = of(r#"{"z":{"b":null,"a":"\"x\""},"y":[{}, [] , true]}"#);
        assert_eq!(of(&once), once);
    }
}
