//! Shortens messages. A reducer never makes a message longer, is idempotent, and never splits a
//! character. Each shortened part records what was left out ([`Part::truncated`]).

use crate::json::{self, Fields};
use crate::message::{Body, Form, Message, Part, Truncated};
use crate::tokens::Counter;
use crate::truncate::{Shortened, Truncation, artifact_id, truncate};

/// Returns the message with the texts of its results shortened, or `None` if nothing got shorter.
/// `shorten` is called with a text and what was left out of it before.
pub(crate) fn results(
    message: &Message,
    counter: &Counter,
    shorten: impl Fn(&str, Option<&Truncated>) -> Option<Shortened>,
) -> Option<Message> {
    let mut reduced = message.clone();
    let mut changed = false;
    for part in &mut reduced.parts {
        if let Body::Result(result) = &mut part.body {
            changed |= shorten_parts(&mut result.parts, counter, &shorten);
        }
    }
    reduced.form = Form::Changed;
    changed.then_some(reduced)
}

/// Returns the message with its own texts shortened, or `None` if nothing got shorter.
pub(crate) fn texts(
    message: &Message,
    counter: &Counter,
    shorten: impl Fn(&str, Option<&Truncated>) -> Option<Shortened>,
) -> Option<Message> {
    let mut reduced = message.clone();
    let changed = shorten_parts(&mut reduced.parts, counter, &shorten);
    reduced.form = Form::Changed;
    changed.then_some(reduced)
}

fn shorten_parts(
    parts: &mut [Part],
    counter: &Counter,
    shorten: &impl Fn(&str, Option<&Truncated>) -> Option<Shortened>,
) -> bool {
    let mut changed = false;
    for part in parts {
        if let Body::Text(text) = &mut part.body
            && let Some(shorter) = shorten(text, part.truncated.as_deref())
            && shorter.text.len() < text.len()
            && counter.text(&shorter.text) < counter.text(text)
        {
            *text = shorter.text;
            part.truncated = Some(Box::new(shorter.truncated));
            changed = true;
        }
    }
    changed
}

/// Truncates the long values of call arguments to `max` characters; they stay a JSON object.
/// Returns `None` if nothing got shorter.
fn arguments(arguments: &str, max: usize, earlier: Option<&Truncated>) -> Option<Shortened> {
    let fields = Fields::parse(arguments)?;
    let shorter = |value: &str| {
        let text = json::string(value).map_or_else(|| value.to_owned(), |lossy| lossy.text);
        let shortened = truncate(&text, &Truncation::new(max * 3 / 5, max * 2 / 5));
        shortened.map_or_else(|| value.to_owned(), |shortened| json::quote(&shortened.text))
    };
    let reduced = json::object(fields.iter().map(|(key, value)| (key, shorter(value))));
    (reduced.len() < arguments.len()).then(|| Shortened::instead(reduced, arguments, earlier))
}

/// Truncates a message to about `target` tokens. Its longest texts and arguments lose their middle,
/// and each text names the artifact that holds the whole of it. Returns `None` if the message
/// already fits or nothing got shorter.
pub(crate) fn truncate_message(
    message: &Message,
    counter: &Counter,
    target: usize,
) -> Option<Message> {
    let before = counter.message(message);
    if before <= target {
        return None;
    }
    let mut best = None;
    let mut smallest = before;
    // The first guess is four characters per token. Some texts have less than one, so the guess is
    // lowered until the message fits.
    let mut chars = target.saturating_mul(4).max(64);
    while chars >= 16 {
        let shorter = truncate_to(message, chars);
        let tokens = counter.message(&shorter);
        if tokens < smallest {
            smallest = tokens;
            best = Some(shorter);
        }
        if smallest <= target {
            break;
        }
        chars = chars * 2 / 3;
    }
    best
}

/// Truncates a text in the middle to about `target` tokens. Returns `None` if it already fits or
/// nothing got shorter.
pub(crate) fn truncate_text(text: &str, counter: &Counter, target: usize) -> Option<String> {
    let before = counter.text(text);
    if before <= target {
        return None;
    }
    let lengths =
        std::iter::successors(Some(target.saturating_mul(4).max(64)), |chars| Some(chars * 2 / 3));
    let mut smallest = None;
    for chars in lengths.take_while(|&chars| chars >= 16) {
        let truncation = Truncation::new(chars * 3 / 5, chars * 2 / 5);
        let Some(shortened) = truncate(text, &truncation) else { continue };
        let tokens = counter.text(&shortened.text);
        smallest = (tokens < before).then_some(shortened.text);
        if tokens <= target {
            break;
        }
    }
    smallest
}

fn truncate_to(message: &Message, max: usize) -> Message {
    let mut shorter = message.clone();
    shorter.form = Form::Changed;
    let texts = shorter.parts.len().max(1);
    let share = (max / texts).max(8);
    for part in &mut shorter.parts {
        truncate_part(part, share);
    }
    shorter
}

fn truncate_part(part: &mut Part, max: usize) {
    let earlier = part.truncated.as_deref();
    let truncated = match &mut part.body {
        Body::Text(text) => {
            let truncation = Truncation::new(max * 3 / 5, max * 2 / 5)
                .artifact(artifact_id(text))
                .after(earlier);
            truncate(text, &truncation).filter(|shorter| shorter.text.len() < text.len()).map(
                |shorter| {
                    *text = shorter.text;
                    shorter.truncated
                },
            )
        }
        Body::Result(result) => {
            let share = (max / result.parts.len().max(1)).max(8);
            result.parts.iter_mut().for_each(|inner| truncate_part(inner, share));
            None
        }
        Body::Call(call) => arguments(&call.arguments, max, earlier).map(|shorter| {
            call.arguments = shorter.text;
            shorter.truncated
        }),
        Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => None,
    };
    if let Some(truncated) = truncated {
        part.truncated = Some(Box::new(truncated));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    /// V11: if the marker would be longer than the text it replaces, the message stays.
    #[test]
    fn v11_a_message_never_grows() {
        let message = Message::tool_result("1", "x".repeat(1_001));
        let head = |text: &str, earlier: Option<&Truncated>| {
            truncate(text, &Truncation::new(1_000, 0).after(earlier))
        };
        assert!(results(&message, &Counter::default(), head).is_none());
    }

    #[test]
    fn a_part_records_what_was_left_out_and_is_not_truncated_twice() {
        let message = Message::tool_result("1", "word ".repeat(1_000));
        let head = |text: &str, earlier: Option<&Truncated>| {
            truncate(text, &Truncation::new(500, 0).after(earlier))
        };
        let shortened = results(&message, &Counter::default(), head).unwrap();
        let truncated = shortened
            .results()
            .next()
            .unwrap()
            .parts
            .first()
            .unwrap()
            .truncated
            .as_deref()
            .unwrap();
        assert_eq!((truncated.omitted, truncated.total), (4_500, 5_000));
        assert!(results(&shortened, &Counter::default(), head).is_none());
    }

    #[test]
    fn truncating_reaches_its_target_and_keeps_arguments_json() {
        let counter = Counter::default();
        let body = "fn main() { println!(\"hello\"); }\n".repeat(400);
        let arguments =
            json::object([("path", json::quote("src/main.rs")), ("body", json::quote(&body))]);
        let call = Message::assistant_with_calls("", [ToolCall::new("1", "write_file", arguments)]);
        let shorter = truncate_message(&call, &counter, 200).unwrap();
        assert!(counter.message(&shorter) <= 200);
        let kept = &shorter.calls().next().unwrap().arguments;
        assert!(json::is_object(kept) && kept.contains("src/main.rs"), "{kept}");
        let text = Message::user("word ".repeat(5_000));
        assert!(counter.message(&truncate_message(&text, &counter, 100).unwrap()) <= 100);
        assert!(truncate_message(&Message::user("short"), &counter, 100).is_none());
    }
}
