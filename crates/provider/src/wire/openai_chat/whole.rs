//! Splits a whole chat completion into the events of a stream.

use waterline::json::{self, Fields};

/// Returns one event with the whole answer: a chunk whose delta is the message.
pub(super) fn events(body: &str) -> Vec<String> {
    let chunk = Fields::parse(body).and_then(|fields| {
        let choices: Vec<String> =
            json::elements(fields.get("choices")?)?.into_iter().filter_map(choice).collect();
        let set = |(name, value): (&str, &str)| match name {
            "choices" => (name.to_owned(), json::array(&choices)),
            _ => (name.to_owned(), value.to_owned()),
        };
        (!choices.is_empty()).then(|| json::object(fields.iter().map(set)))
    });
    chunk.into_iter().collect()
}

fn choice(json: &str) -> Option<String> {
    let fields = Fields::parse(json)?;
    fields.get("message").filter(|message| json::is_object(message))?;
    let rename = |(name, value): (&str, &str)| {
        let name = if name == "message" { "delta" } else { name };
        (name.to_owned(), value.to_owned())
    };
    Some(json::object(fields.iter().map(rename)))
}
