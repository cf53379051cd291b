//! Making texts and messages shorter. A reducer never grows what it is given, gives the same when applied
//! twice, and never splits a character.

use crate::json::{self, Fields};
use crate::message::{Body, Form, Message, Part};
use crate::tokens::Counter;

/// The first `max` characters and a note (S0.66). `None` when the text is short enough, or was cut this way before.
#[must_use]
pub fn head(text: &str, max: usize) -> Option<String> {
    let cut = nth_char(text, max)?;
    if was_cut_to_head(text, cut) {
        return None;
    }
    let total = text.chars().count();
    Some(format!("{}\n... (truncated, {total} chars total)", text.get(..cut)?))
}

fn was_cut_to_head(text: &str, cut: usize) -> bool {
    let note = text.get(cut..).and_then(|rest| rest.strip_prefix("\n... (truncated, "));
    note.and_then(|rest| rest.strip_suffix(" chars total)")).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// Head and tail of a text longer than `over` characters, with a note of what is missing (S1.29). `None` when the
/// text is short enough.
#[must_use]
pub fn head_tail(text: &str, over: usize, head: usize, tail: usize) -> Option<String> {
    nth_char(text, over)?;
    middle_out(text, head, tail, |omitted| format!("\n\n[... {omitted} chars omitted ...]\n\n"))
}

/// A text without its middle; the note says how many characters went.
#[must_use]
pub fn middle_out(text: &str, head: usize, tail: usize, note: impl Fn(usize) -> String) -> Option<String> {
    let total = text.chars().count();
    let omitted = total.checked_sub(head + tail).filter(|&omitted| omitted > 0)?;
    let front = text.get(..nth_char(text, head)?)?;
    let back = text.get(nth_char(text, total - tail).unwrap_or(text.len())..)?;
    Some(format!("{front}{}{back}", note(omitted)))
}

/// The byte at which character `n` begins, or `None` when there are no more than `n` characters.
fn nth_char(text: &str, n: usize) -> Option<usize> {
    if text.len() <= n {
        return None;
    }
    text.char_indices().nth(n).map(|(at, _)| at)
}

/// The beginning of a text on one line, at most `max` characters.
#[must_use]
pub fn line(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some(cut) = nth_char(&line, max) {
            line.truncate(cut);
            line.push('…');
            break;
        }
    }
    line
}

/// The message with the texts of its results cut, or `None` when none is cut or nothing is gained.
pub fn results(message: &Message, counter: &Counter, cut: impl Fn(&str) -> Option<String>) -> Option<Message> {
    let mut reduced = message.clone();
    let mut changed = false;
    for part in &mut reduced.parts {
        if let Body::Result(result) = &mut part.body {
            changed |= texts(&mut result.parts, counter, &cut);
        }
    }
    reduced.form = Form::Changed;
    changed.then_some(reduced)
}

/// The message with its own texts cut, or `None` when none is cut or nothing is gained.
pub fn words(message: &Message, counter: &Counter, cut: impl Fn(&str) -> Option<String>) -> Option<Message> {
    let mut reduced = message.clone();
    let changed = texts(&mut reduced.parts, counter, &cut);
    reduced.form = Form::Changed;
    changed.then_some(reduced)
}

fn texts(parts: &mut [Part], counter: &Counter, cut: &impl Fn(&str) -> Option<String>) -> bool {
    let mut changed = false;
    for part in parts {
        if let Body::Text(text) = &mut part.body
            && let Some(shorter) = cut(text)
            && shorter.len() < text.len()
            && counter.text(&shorter) < counter.text(text)
        {
            *text = shorter;
            changed = true;
        }
    }
    changed
}

/// Arguments whose long values are cut to `max` characters; still a JSON object. `None` when nothing is gained.
#[must_use]
pub fn arguments(arguments: &str, max: usize) -> Option<String> {
    let fields = Fields::parse(arguments)?;
    let shorter = |value: &str| {
        let text = json::string(value).map_or_else(|| value.to_owned(), |loose| loose.text);
        let cut = middle_out(&text, max * 3 / 5, max * 2 / 5, |omitted| format!("[... {omitted} chars omitted ...]"));
        cut.map_or_else(|| value.to_owned(), |cut| json::quote(&cut))
    };
    let cut = json::object(fields.iter().map(|(key, value)| (key, shorter(value))));
    (cut.len() < arguments.len()).then_some(cut)
}

/// The message cut to about `target` tokens: its longest texts and arguments lose their middle. `None` when it
/// fits already or nothing is gained.
#[must_use]
pub fn clip(message: &Message, counter: &Counter, target: usize) -> Option<Message> {
    let before = counter.message(message);
    if before <= target {
        return None;
    }
    let mut best = None;
    let mut smallest = before;
    // Start near the goal and halve: a text has about four characters a token, at worst less than one.
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
    match &mut part.body {
        Body::Text(text) => clip_text(text, max),
        Body::Result(result) => {
            let share = (max / result.parts.len().max(1)).max(8);
            for inner in &mut result.parts {
                clip_part(inner, share);
            }
        }
        Body::Call(call) => {
            if let Some(shorter) = arguments(&call.arguments, max) {
                call.arguments = shorter;
            }
        }
        Body::Thinking(_) | Body::Image(_) | Body::Opaque(_) => {}
    }
}

fn clip_text(text: &mut String, max: usize) {
    let cut = middle_out(text, max * 3 / 5, max * 2 / 5, |omitted| format!("\n[... {omitted} chars omitted ...]\n"));
    if let Some(shorter) = cut.filter(|shorter| shorter.len() < text.len()) {
        *text = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    /// E.10, S1.29: 6,000 characters become 1,000 + note + 1,000; 5,000 stay.
    #[test]
    fn e10_head_and_tail_with_the_seeds_marker() {
        let text = format!("{}{}", "a".repeat(3_000), "b".repeat(3_000));
        let cut = head_tail(&text, 5_000, 1_000, 1_000).unwrap();
        assert_eq!(cut, format!("{}\n\n[... 4000 chars omitted ...]\n\n{}", "a".repeat(1_000), "b".repeat(1_000)));
        assert_eq!(head_tail(&"x".repeat(5_000), 5_000, 1_000, 1_000), None);
        assert_eq!(head_tail(&cut, 5_000, 1_000, 1_000), None);
    }

    /// E.10: a multi-byte character at the cut stays whole.
    #[test]
    fn e10_cuts_fall_between_characters() {
        let text = "数".repeat(6_000);
        let cut = head_tail(&text, 5_000, 1_000, 1_000).unwrap();
        assert_eq!(cut.chars().filter(|&c| c == '数').count(), 2_000);
    }

    /// E.11, S0.66: exactly `max` stays, one more is cut with the seed's note.
    #[test]
    fn e11_head_with_the_seeds_marker() {
        assert_eq!(head(&"x".repeat(1_000), 1_000), None);
        let cut = head(&"x".repeat(1_001), 1_000).unwrap();
        assert_eq!(cut, format!("{}\n... (truncated, 1001 chars total)", "x".repeat(1_000)));
        assert_eq!(head(&cut, 1_000), None, "an already cut text is not cut again");
    }

    #[test]
    fn a_text_that_imitates_the_note_is_cut_all_the_same() {
        let text = format!("{}\n... (truncated, 9 chars total)", "x".repeat(5_000));
        assert!(head(&text, 1_000).is_some());
    }

    /// V11: where the note would be longer than what it replaces, the message stays.
    #[test]
    fn v11_a_message_never_grows() {
        let message = Message::tool_result("1", "x".repeat(1_001));
        assert!(results(&message, &Counter::default(), |text| head(text, 1_000)).is_none());
    }

    #[test]
    fn clipping_reaches_its_target_and_keeps_arguments_json() {
        let counter = Counter::default();
        let body = "fn main() { println!(\"hello\"); }\n".repeat(400);
        let arguments = json::object([("path", json::quote("src/main.rs")), ("body", json::quote(&body))]);
        let call = Message::assistant_with_calls("", [ToolCall::new("1", "write_file", arguments)]);
        let clipped = clip(&call, &counter, 200).unwrap();
        assert!(counter.message(&clipped) <= 200);
        let kept = &clipped.calls().next().unwrap().arguments;
        assert!(json::is_object(kept) && kept.contains("src/main.rs"), "{kept}");
        let text = Message::user("word ".repeat(5_000));
        assert!(counter.message(&clip(&text, &counter, 100).unwrap()) <= 100);
        assert!(clip(&Message::user("short"), &counter, 100).is_none());
    }

    #[test]
    fn a_line_is_short_and_on_one_line() {
        assert_eq!(line("  a\n\tb  c ", 10), "a b c");
        assert_eq!(line("数据库管理", 3), "数据库…");
    }
}
