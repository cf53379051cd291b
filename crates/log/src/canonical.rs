//! One spelling for each JSON text: no white space between tokens, members sorted by name, strings
//! escaped in one way, numbers as they are written. Two clients that write the same message
//! differently give it the same id.
//!
//! What the members mean is nobody's business here, so an id does not change when a reader learns
//! something new.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use waterline::json;

/// The canonical bytes of a message; bytes that are no JSON are their own.
pub(crate) fn canonical(bytes: &[u8]) -> Cow<'_, [u8]> {
    // The parser refuses what is nested too deep, so the recursion below has an end.
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

/// A member given twice stands twice: which of them counts is for readers to say.
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

/// Half a UTF-16 pair has no other spelling than its escape: such a string stays as it is written.
fn write_string(json: &str, out: &mut String) {
    match json::string(json) {
        Some(loose) if !loose.mended => out.push_str(&json::quote(&loose.text)),
        _ => out.push_str(json),
    }
}

/// The members of an object, names in their canonical spelling.
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
    fn spelling_does_not_matter_and_values_do() {
        assert_eq!(
            of("{ \"b\" : [1, 2.50 ,1e3],\n \"a\":\"\\u00e9\\/\\n\" }"),
            "{\"a\":\"é/\\n\",\"b\":[1,2.50,1e3]}"
        );
        assert_ne!(of(r#"{"n":12345678901234567890123}"#), of(r#"{"n":12345678901234567890124}"#));
        assert_ne!(of(r#"{"a":1,"a":2}"#), of(r#"{"a":2}"#));
        assert_ne!(of(r#"["\ud800"]"#), of(r#"["\ud801"]"#));
    }

    #[test]
    fn what_is_no_json_is_left_alone() {
        for odd in ["", "{\"a\":", "\0", "[1,]", &"[".repeat(100_000)] {
            assert_eq!(of(odd), odd);
        }
        assert_eq!(&*canonical(b"\xff\xfe"), b"\xff\xfe");
    }

    #[test]
    fn canonical_bytes_are_canonical() {
        let once = of(r#"{"z":{"b":null,"a":"\"x\""},"y":[{}, [] , true]}"#);
        assert_eq!(of(&once), once);
    }
}
