//! A message on one line.

use waterline::message::{Body, Message};

/// What a message says, on one line.
pub fn one_line(message: &Message) -> String {
    let text = message.parts.iter().map(|part| match &part.body {
        Body::Text(text) => text.clone(),
        Body::Thinking(thinking) => format!("(thinks) {}", thinking.text),
        Body::Image(_) => "(image)".to_owned(),
        Body::Call(call) => format!("{}({})", call.name, call.arguments),
        Body::Result(result) => result.text(),
        Body::Opaque(opaque) => opaque.json.clone(),
    });
    let text: Vec<String> = text.map(|text| text.chars().take(300).collect()).collect();
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}
