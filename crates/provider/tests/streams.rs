//! The same answer on every wire (reasoning, text, two calls), complete and interrupted after every
//! event.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

mod events;

use events::events;
use waterline::message::{Body, Message, Wire};
use waterline_provider::answer::{Answer, Delta, Failure, Stop, Usage};
use waterline_provider::{overflow, wire};

fn decode(wire: Wire, events: &[&str]) -> (Vec<Delta>, Result<(), Failure>, Answer) {
    let mut decoder = wire::decoder(wire);
    let mut deltas = Vec::new();
    let outcome =
        events.iter().try_for_each(|data| decoder.event(data, &mut |delta| deltas.push(delta)));
    (deltas, outcome, decoder.finish())
}

fn joined(deltas: &[Delta], of: impl Fn(&Delta) -> Option<&str>) -> String {
    deltas.iter().filter_map(of).collect()
}

#[test]
fn every_wire_gives_the_same_deltas_and_answer() {
    for wire in waterline_testkit::WIRES {
        let (deltas, outcome, answer) = decode(wire, events(wire));
        assert_eq!(outcome, Ok(()), "{wire}");
        let text =
            joined(&deltas, |delta| if let Delta::Text(text) = delta { Some(text) } else { None });
        let thinking =
            joined(
                &deltas,
                |delta| if let Delta::Thinking(text) = delta { Some(text) } else { None },
            );
        assert_eq!(
            (text.as_str(), thinking.as_str()),
            ("I will look: 数据.", "Let me see."),
            "{wire}"
        );
        let calls: Vec<(usize, &str)> = deltas
            .iter()
            .filter_map(|delta| {
                if let Delta::Call { at, name, .. } = delta {
                    Some((*at, name.as_str()))
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(calls, [(0, "read"), (1, "now")], "{wire}");
        let first = joined(&deltas, |delta| match delta {
            Delta::Arguments { at: 0, json } => Some(json),
            _ => None,
        });
        assert_eq!(first, r#"{"path": "a.rs", "n": 1.0}"#, "{wire}");

        assert_eq!(answer.stop, Stop::Calls, "{wire}");
        assert_eq!(
            (answer.usage.prompt(), answer.usage.cache_read, answer.usage.output),
            (105, 90, 42),
            "{wire}"
        );
        assert!(answer.model.as_ref().is_some_and(|name| name.ends_with("-x")), "{wire}");
        let made: Vec<(&str, &str)> = answer
            .messages
            .iter()
            .flat_map(Message::calls)
            .map(|call| (call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(made, [("read", r#"{"path": "a.rs", "n": 1.0}"#), ("now", "{}")], "{wire}");
        let complete: String = answer.messages.iter().map(Message::text).collect();
        assert_eq!(complete, "I will look: 数据.", "{wire}");
        assert!(thought(&answer).contains("Let me see."), "{wire}");
    }
}

fn thought(answer: &Answer) -> String {
    let parts = answer.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| {
            if let Body::Thinking(thinking) = &part.body {
                Some(thinking.text.as_str())
            } else {
                None
            }
        })
        .collect()
}

/// A streamed answer is sent back to its own wire as the bytes assembled from the stream.
#[test]
fn streamed_answer_is_sent_back_unchanged() {
    let (_, _, answer) = decode(Wire::ANTHROPIC, events(Wire::ANTHROPIC));
    let context: Vec<&Message> = answer.messages.iter().collect();
    let rendered = wire::render(Wire::ANTHROPIC, &context);
    assert_eq!(
        rendered.texts().last().copied(),
        Some(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"c2ln"},{"type":"text","text":"I will look: 数据."},{"type":"tool_use","id":"c1","name":"read","input":{"path": "a.rs", "n": 1.0}},{"type":"tool_use","id":"c2","name":"now","input":{}}]}"#
        )
    );
}

/// A stream that ends after any event keeps the text so far, and only calls with complete
/// arguments.
#[test]
fn interrupted_stream_keeps_text_and_complete_calls() {
    for wire in waterline_testkit::WIRES {
        let all = events(wire);
        for count in 0..all.len() {
            let (deltas, _, answer) = decode(wire, &all[..count]);
            let streamed =
                joined(
                    &deltas,
                    |delta| if let Delta::Text(text) = delta { Some(text) } else { None },
                );
            let kept: String = answer.messages.iter().map(Message::text).collect();
            assert_eq!(kept, streamed, "{wire} after {count}");
            for call in answer.messages.iter().flat_map(Message::calls) {
                assert!(
                    waterline::json::is_object(&call.arguments),
                    "{wire} after {count}: {}",
                    call.arguments
                );
            }
            for message in &answer.messages {
                let raw = message.raw.as_ref().unwrap().as_str();
                assert!(
                    serde_json::from_str::<serde_json::Value>(raw).is_ok(),
                    "{wire} after {count}: {raw}"
                );
            }
            if count == 0 {
                assert!(
                    answer.messages.is_empty()
                        && answer.stop == Stop::Interrupted
                        && answer.usage == Usage::default()
                );
            }
        }
    }
}

#[test]
fn errors_in_the_middle_of_a_stream_are_reported() {
    let cases = [
        (
            Wire::ANTHROPIC,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "Overloaded",
        ),
        (
            Wire::OPENAI_CHAT,
            r#"{"error":{"message":"server had an error"}}"#,
            "server had an error",
        ),
        (
            Wire::OPENAI_RESPONSES,
            concat!(
                r#"{"type":"response.failed","#,
                r#""response":{"error":{"code":"context_length_exceeded","message":"Your input "#,
                r#"exceeds the context window"}}}"#
            ),
            "Your input exceeds the context window",
        ),
        (
            Wire::GEMINI,
            r#"{"error":{"code":503,"message":"The model is overloaded"}}"#,
            "The model is overloaded",
        ),
        (
            Wire::GEMINI,
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
            "malformed function call",
        ),
        (
            Wire::OPENAI_CHAT,
            concat!(
                r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","#,
                r#""error":{"code":502,"message":"Provider disconnected"}}]}"#
            ),
            "Provider disconnected",
        ),
    ];
    for (wire, event, message) in cases {
        let mut all = events(wire)[..3].to_vec();
        all.push(event);
        let (_, outcome, answer) = decode(wire, &all);
        assert_eq!(outcome.as_ref().unwrap_err().to_string(), message, "{wire}");
        assert_eq!(answer.stop, Stop::Interrupted);
        let found = overflow::overflow(None, &outcome.unwrap_err().0);
        assert_eq!(found.is_some(), wire == Wire::OPENAI_RESPONSES, "{wire}");
    }
}

#[test]
fn stop_reasons_of_all_wires_are_mapped() {
    let of = |wire, event: &str| decode(wire, &[event]).2.stop;
    let anthropic = |reason: &str| {
        of(
            Wire::ANTHROPIC,
            &format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#),
        )
    };
    assert_eq!(anthropic("end_turn"), Stop::End);
    assert_eq!(anthropic("max_tokens"), Stop::Length);
    assert_eq!(anthropic("model_context_window_exceeded"), Stop::Window);
    assert_eq!(anthropic("refusal"), Stop::Refused);
    assert_eq!(anthropic("pause_turn"), Stop::Paused);
    assert_eq!(anthropic("news"), Stop::Other("news".into()));
    let chat = |reason: &str| {
        of(
            Wire::OPENAI_CHAT,
            &format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{reason}"}}]}}"#),
        )
    };
    assert_eq!(
        [chat("stop"), chat("length"), chat("content_filter")],
        [Stop::End, Stop::Length, Stop::Refused]
    );
    let refusal = r#"{"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}"#;
    assert_eq!(
        of(Wire::OPENAI_CHAT, refusal),
        Stop::Refused,
        "in a separate field, if a shape was requested"
    );
    let refusal = [
        r#"{"type":"response.refusal.done","refusal":"I will not."}"#,
        r#"{"type":"response.completed"}"#,
    ];
    assert_eq!(decode(Wire::OPENAI_RESPONSES, &refusal).2.stop, Stop::Refused);
    let incomplete = concat!(
        r#"{"type":"response.incomplete","#,
        r#""response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#
    );
    assert_eq!(of(Wire::OPENAI_RESPONSES, incomplete), Stop::Length);
    let gemini = |reason: &str| {
        of(Wire::GEMINI, &format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#))
    };
    assert_eq!(
        [gemini("STOP"), gemini("MAX_TOKENS"), gemini("SAFETY")],
        [Stop::End, Stop::Length, Stop::Refused]
    );
}

/// Some servers send calls without an index, with a new id for each, or a whole call at once.
#[test]
fn calls_without_an_index_are_separated_by_id() {
    let events = [
        concat!(
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"read","#,
            r#""arguments":"{\"n\":1}"}}]}}]}"#
        ),
        concat!(
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"read","#,
            r#""arguments":"{\"n\":2}"}}]}}]}"#
        ),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ];
    let (_, _, answer) = decode(Wire::OPENAI_CHAT, &events);
    let calls: Vec<(&str, &str)> = answer
        .messages
        .iter()
        .flat_map(Message::calls)
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("a", "{\"n\":1}"), ("b", "{\"n\":2}")]);
}

/// No input from the network stops a decoder.
#[test]
fn invalid_events_are_ignored() {
    for wire in waterline_testkit::WIRES {
        let nonsense = [
            "",
            "null",
            "[]",
            "{",
            "{}",
            "\u{0}",
            r#"{"type":7,"choices":{},"candidates":"x"}"#,
            "[DONE]",
        ];
        let (deltas, outcome, answer) = decode(wire, &nonsense);
        assert!(deltas.is_empty() && outcome.is_ok() && answer.messages.is_empty(), "{wire}");
    }
}
