//! Making messages shorter. A reducer never grows what it is given, gives the same when applied
//! twice, and never splits a character. Each part that was shortened says what it lost
//! ([`Part::truncated`]).

use crate::json::{self, Fields};
use crate::message::{Body, Form, Message, Part, Truncated};
use crate::tokens::Counter;
use crate::truncate::{Cut, Shortened, artifact_id, truncate};

/// The message with the texts of its results shortened, or `None` when none is or nothing is
/// gained. `shorten` is given a text and what it lost before.
pub(crate) fn results(
    message: &Message,
    counter: &Counter,
    shorten: impl Fn(&str, Option<&Truncated>) -> Option<Shortened>,
) -> Option<Message> {
    let mut reduced = message.clone();
    let mut changed = false;
    for part in &mut reduced.parts {
        if let Body::Result(result) = &mut part.body {
            changed |= texts(&mut result.parts, counter, &shorten);
        }
    }
    reduced.form = Form::Changed;
    changed.then_some(reduced)
}

/// The message with its own texts shortened, or `None` when none is or nothing is gained.
pub(crate) fn words(
    message: &Message,
    counter: &Counter,
    shorten: impl Fn(&str, Option<&Truncated>) -> Option<Shortened>,
) -> Option<Message> {
    let mut reduced = message.clone();
    let changed = texts(&mut reduced.parts, counter, &shorten);
    reduced.form = Form::Changed;
    changed.then_some(reduced)
}

fn texts(
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

/// Arguments whose long values are cut to `max` characters; still a JSON object. `None` when
/// nothing is gained.
fn arguments(arguments: &str, max: usize, earlier: Option<&Truncated>) -> Option<Shortened> {
    let fields = Fields::parse(arguments)?;
    let shorter = |value: &str| {
        let text = json::string(value).map_or_else(|| value.to_owned(), |loose| loose.text);
        let cut = truncate(&text, &Cut::new(max * 3 / 5, max * 2 / 5));
        cut.map_or_else(|| value.to_owned(), |cut| json::quote(&cut.text))
    };
    let cut = json::object(fields.iter().map(|(key, value)| (key, shorter(value))));
    (cut.len() < arguments.len()).then(|| Shortened::instead(cut, arguments, earlier))
}

/// The message cut to about `target` tokens: its longest texts and arguments lose their middle, and
/// each text names the artifact that holds the whole of it. `None` when it fits already or nothing
/// is gained.
pub(crate) fn clip(message: &Message, counter: &Counter, target: usize) -> Option<Message> {
    let before = counter.message(message);
    if before <= target {
        return None;
    }
    let mut best = None;
    let mut smallest = before;
    // Start near the goal and halve: a text has about four characters a token, at worst less than
    // one.
    let mut room = target.saturating_mul(4).max(64);
    while room >= 16 {
        let clipped = clip_to(message, room);
        let tokens = counter.message(&clipped);
        if tokens < smallest {
            smallest = tokens;
            best = Some(clipped);
        }
        if smallest <= target {
            break;
        }
        room = room * 2 / 3;
    }
    best
}

/// The text cut to about `target` tokens: it loses its middle. `None` when it fits already or
/// nothing is gained.
pub(crate) fn clip_text(text: &str, counter: &Counter, target: usize) -> Option<String> {
    let before = counter.text(text);
    if before <= target {
        return None;
    }
    let lengths =
        std::iter::successors(Some(target.saturating_mul(4).max(64)), |room| Some(room * 2 / 3));
    let mut smallest = None;
    for room in lengths.take_while(|&room| room >= 16) {
        let Some(cut) = truncate(text, &Cut::new(room * 3 / 5, room * 2 / 5)) else { continue };
        let tokens = counter.text(&cut.text);
        smallest = (tokens < before).then_some(cut.text);
        if tokens <= target {
            break;
        }
    }
    smallest
}

fn clip_to(message: &Message, max: usize) -> Message {
    let mut clipped = message.clone();
    clipped.form = Form::Changed;
    let texts = clipped.parts.len().max(1);
    let share = (max / texts).max(8);
    for part in &mut clipped.parts {
        clip_part(part, share);
    }
    clipped
}

fn clip_part(part: &mut Part, max: usize) {
    let earlier = part.truncated.as_deref();
    let lost = match &mut part.body {
        Body::Text(text) => {
            let cut = Cut::new(max * 3 / 5, max * 2 / 5).artifact(artifact_id(text)).after(earlier);
            truncate(text, &cut).filter(|shorter| shorter.text.len() < text.len()).map(|shorter| {
                *text = shorter.text;
                shorter.truncated
            })
        }
        Body::Result(result) => {
            let share = (max / result.parts.len().max(1)).max(8);
            result.parts.iter_mut().for_each(|inner| clip_part(inner, share));
            None
        }
        Body::Call(call) => arguments(&call.arguments, max, earlier).map(|shorter| {
            call.arguments = shorter.text;
            shorter.truncated
        }),
        Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => None,
    };
    if let Some(lost) = lost {
        part.truncated = Some(Box::new(lost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    /// V11: where the marker would be longer than what it replaces, the message stays.
    #[test]
    fn v11_a_message_never_grows() {
        let message = Message::tool_result("1", "x".repeat(1_001));
        let head = |text: &str, earlier: Option<&Truncated>| {
            truncate(text, &Cut::new(1_000, 0).after(earlier))
        };
        assert!(results(&message, &Counter::default(), head).is_none());
    }

    /// What was cut is data, on the part that was cut.
    #[test]
    fn a_part_says_what_it_lost_and_is_not_cut_twice() {
        let message = Message::tool_result("1", "word ".repeat(1_000));
        let head = |text: &str, earlier: Option<&Truncated>| {
            truncate(text, &Cut::new(500, 0).after(earlier))
        };
        let cut = results(&message, &Counter::default(), head).unwrap();
        let lost =
            cut.results().next().unwrap().parts.first().unwrap().truncated.as_deref().unwrap();
        assert_eq!((lost.omitted, lost.total), (4_500, 5_000));
        assert!(results(&cut, &Counter::default(), head).is_none());
    }

    #[test]
    fn clipping_reaches_its_target_and_keeps_arguments_json() {
        let counter = Counter::default();
        let body = "fn main() { println!(\"hello\"); }\n".repeat(400);
        let arguments =
            json::object([("path", json::quote("src/main.rs")), ("body", json::quote(&body))]);
        let call = Message::assistant_with_calls("", [ToolCall::new("1", "write_file", arguments)]);
        let clipped = clip(&call, &counter, 200).unwrap();
        assert!(counter.message(&clipped) <= 200);
        let kept = &clipped.calls().next().unwrap().arguments;
        assert!(json::is_object(kept) && kept.contains("src/main.rs"), "{kept}");
        let text = Message::user("word ".repeat(5_000));
        assert!(counter.message(&clip(&text, &counter, 100).unwrap()) <= 100);
        assert!(clip(&Message::user("short"), &counter, 100).is_none());
    }
}
