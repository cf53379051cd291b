//! A message on one line.

use waterline::message::{Body, Message};
use waterline_agent::environment::without_notes;

use crate::text;

/// Characters shown of each part.
const SHOWN: usize = 300;

/// Returns the content of a message on one line, without the program's notes.
pub fn one_line(message: &Message) -> String {
    let parts = message.parts.iter().map(|part| match &part.body {
        Body::Text(text) => without_notes(text).to_owned(),
        Body::Thinking(thinking) => format!("{} {}", text!("part-thinking"), thinking.text),
        Body::Image(_) => text!("part-image"),
        Body::Call(call) => format!("{}({})", call.name, call.arguments),
        Body::Result(result) => result.text(),
        Body::Opaque(opaque) => opaque.json.clone(),
    });
    let parts: Vec<String> = parts.map(|part| part.chars().take(SHOWN).collect()).collect();
    parts.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}
