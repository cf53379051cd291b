//! Every wire: unchanged messages keep their bytes, messages for another wire are valid there, and
//! input that is not a conversation is rejected with its position.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

use std::sync::Arc;

use waterline::history::History;
use waterline::message::{Body, Message, Wire};
use waterline::tokens::Counter;
use waterline::warning::WarningKind;
use waterline_provider::wire::{self, Conversation};

fn parse(text: &str) -> Conversation {
    wire::parse(&Arc::new(text.to_owned()), None).unwrap()
}

fn history(conversation: Conversation) -> History {
    History::of(Counter::default(), conversation.messages)
}

fn all(history: &History) -> Vec<Message> {
    let views = (0..history.atoms().len())
        .filter(|&at| history.atom(at).unwrap().is_sendable())
        .flat_map(|at| history.views(at, 0));
    views.map(|view| view.message(history).unwrap().clone()).collect()
}

/// Renders the conversation for a wire, one message per line.
fn send(text: &str, to: Wire) -> String {
    let history = history(parse(text));
    let messages = all(&history);
    let rendered = wire::render(to, &messages.iter().collect::<Vec<_>>());
    assert_eq!(wire::check(to, &rendered.texts()), [], "{to}: {:#?}", rendered.texts());
    let system = rendered
        .system
        .as_ref()
        .map(|json| format!("system {}\n", json.as_str()))
        .unwrap_or_default();
    system + &rendered.texts().join("\n")
}

const CHAT: &str = r#"{"model":"gpt-4o","temperature":0.10,"messages":[
  {"role":"system","content":"Be brief."},
  {"role":"user","content":[{"type":"text","text":"What is in this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
  {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"at\": 1.0, \"big\": 1152921504606846976}"}}],"x":{"n":1e3}},
  {"role":"tool","tool_call_id":"call_1","content":"a cat"},
  {"role":"assistant","content":"A cat."}],
  "tools":[{"type":"function","function":{"name":"look","description":"look at a thing","parameters":{"type":"object"}}}]}"#;

const ANTHROPIC: &str = r#"{"model":"claude-opus-4-6","max_tokens":100,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
  {"role":"user","content":"What is in this?"},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"Let me look."},{"type":"tool_use","id":"toolu_1","name":"look","input":{"at":1.0,"big":1152921504606846976}},{"type":"tool_use","id":"toolu_2","name":"look","input":{}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a cat"}]},{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":"nothing"},{"type":"text","text":"Quick, please.","cache_control":{"type":"ephemeral"}}]},
  {"role":"assistant","content":"A cat."}]}"#;

const RESPONSES: &str = r#"{"model":"gpt-5","instructions":"Be brief.","input":[
  {"role":"user","content":"What is in this?"},
  {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"xyz"},
  {"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","arguments":"{\"at\":1.0}"},
  {"type":"function_call","id":"fc_2","call_id":"call_2","name":"look","arguments":"{}"},
  {"type":"function_call_output","call_id":"call_1","output":"a cat"},
  {"type":"function_call_output","call_id":"call_2","output":"nothing"},
  {"type":"message","role":"assistant","content":[{"type":"output_text","text":"A cat.","annotations":[]}]}]}"#;

const GEMINI: &str = r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[
  {"role":"user","parts":[{"text":"What is in this?"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},
  {"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"look","args":{"at":1.0}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"find","args":{}}}]},
  {"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"a cat"}}},{"functionResponse":{"name":"find","response":{"error":"nothing"}}}]},
  {"role":"model","parts":[{"text":"A cat."}]}]}"#;

const BODIES: [(Wire, &str); 4] = [
    (Wire::OPENAI_CHAT, CHAT),
    (Wire::ANTHROPIC, ANTHROPIC),
    (Wire::OPENAI_RESPONSES, RESPONSES),
    (Wire::GEMINI, GEMINI),
];

/// Unknown fields, number formats and key order survive: unchanged messages keep their bytes.
#[test]
fn messages_round_trip_on_their_own_wire() {
    for (wire, text) in BODIES {
        let conversation = parse(text);
        assert_eq!(conversation.wire, wire, "detected from its content");
        assert_eq!(conversation.warnings, [], "{wire}");
        let whole = conversation.clone();
        let history = history(conversation);
        let messages = all(&history);
        let rendered = wire::render(wire, &messages.iter().collect::<Vec<_>>());
        let list: Vec<&str> = whole.list().collect();
        assert_eq!(rendered.texts(), list, "{wire}");
        let system = rendered.system.as_ref().map(|system| system.as_str());
        let outside = whole.messages.iter().take(whole.outside).filter_map(|m| m.raw.as_ref());
        assert_eq!(system, outside.map(|raw| raw.as_str()).next(), "{wire}");
    }
}

#[test]
fn chat_to_anthropic() {
    insta::assert_snapshot!(send(CHAT, Wire::ANTHROPIC), @r#"
    system [{"type":"text","text":"Be brief."}]
    {"role":"user","content":[{"type":"text","text":"What is in this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"look","input":{"at": 1.0, "big": 1152921504606846976}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"a cat"}]}
    {"role":"assistant","content":[{"type":"text","text":"A cat."}]}
    "#);
}

#[test]
fn anthropic_to_chat() {
    insta::assert_snapshot!(send(ANTHROPIC, Wire::OPENAI_CHAT), @r#"
    {"role":"system","content":"Be brief."}
    {"role":"user","content":"What is in this?"}
    {"role":"assistant","content":"Let me look.","tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"look","arguments":"{\"at\":1.0,\"big\":1152921504606846976}"}},{"id":"toolu_2","type":"function","function":{"name":"look","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"toolu_1","content":"a cat"}
    {"role":"tool","tool_call_id":"toolu_2","content":"nothing"}
    {"role":"user","content":"Quick, please."}
    {"role":"assistant","content":"A cat."}
    "#);
}

/// Parallel calls, which are separate items on Responses, become one message; reasoning is dropped.
#[test]
fn responses_to_chat_and_gemini() {
    insta::assert_snapshot!(send(RESPONSES, Wire::OPENAI_CHAT), @r#"
    {"role":"system","content":"Be brief."}
    {"role":"user","content":"What is in this?"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"at\":1.0}"}},{"id":"call_2","type":"function","function":{"name":"look","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"call_1","content":"a cat"}
    {"role":"tool","tool_call_id":"call_2","content":"nothing"}
    {"role":"assistant","content":"A cat."}
    "#);
    insta::assert_snapshot!(send(RESPONSES, Wire::GEMINI), @r#"
    system {"parts":[{"text":"Be brief."}]}
    {"role":"user","parts":[{"text":"What is in this?"}]}
    {"role":"model","parts":[{"functionCall":{"name":"look","args":{"at":1.0}}},{"functionCall":{"name":"look","args":{}}}]}
    {"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"a cat"}}},{"functionResponse":{"name":"look","response":{"output":"nothing"}}}]}
    {"role":"model","parts":[{"text":"A cat."}]}
    "#);
}

#[test]
fn gemini_to_anthropic_and_responses() {
    insta::assert_snapshot!(send(GEMINI, Wire::ANTHROPIC), @r#"
    system [{"type":"text","text":"Be brief."}]
    {"role":"user","content":[{"type":"text","text":"What is in this?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"call_2_1","name":"look","input":{"at":1.0}},{"type":"tool_use","id":"call_2_2","name":"find","input":{}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_2_1","content":"a cat"},{"type":"tool_result","tool_use_id":"call_2_2","content":"nothing","is_error":true}]}
    {"role":"assistant","content":[{"type":"text","text":"A cat."}]}
    "#);
    insta::assert_snapshot!(send(GEMINI, Wire::OPENAI_RESPONSES), @r#"
    system "Be brief."
    {"type":"message","role":"user","content":[{"type":"input_text","text":"What is in this?"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}
    {"type":"function_call","call_id":"call_2_1","name":"look","arguments":"{\"at\":1.0}"}
    {"type":"function_call","call_id":"call_2_2","name":"find","arguments":"{}"}
    {"type":"function_call_output","call_id":"call_2_1","output":"a cat"}
    {"type":"function_call_output","call_id":"call_2_2","output":"nothing"}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"A cat."}]}
    "#);
}

/// A conversation that starts with the assistant gets an opening on wires that require the user
/// first (V4).
#[test]
fn v4_opening_user_message_is_added_where_required() {
    let text = r#"[{"role":"assistant","content":"Hello!"},{"role":"user","content":"Hi."},{"role":"user","content":"You there?"}]"#;
    insta::assert_snapshot!(send(text, Wire::ANTHROPIC), @r#"
    {"role":"user","content":[{"type":"text","text":"(the conversation starts with an assistant message)"}]}
    {"role":"assistant","content":[{"type":"text","text":"Hello!"}]}
    {"role":"user","content":[{"type":"text","text":"Hi."},{"type":"text","text":"You there?"}]}
    "#);
}

/// C3.7: a system message in the middle becomes user text on wires that do not support it there.
#[test]
fn c3_7_system_message_in_the_middle_becomes_tagged_text() {
    let text = r#"[{"role":"system","content":"A"},{"role":"user","content":"Hi."},{"role":"developer","content":"B"},{"role":"user","content":"Go."}]"#;
    insta::assert_snapshot!(send(text, Wire::ANTHROPIC), @r#"
    system [{"type":"text","text":"A"}]
    {"role":"user","content":[{"type":"text","text":"Hi."},{"type":"text","text":"<system-message>\nB\n</system-message>"},{"type":"text","text":"Go."}]}
    "#);
    assert_eq!(send(text, Wire::OPENAI_CHAT).lines().count(), 4);
}

/// Chat accepts only text in tool results, so an image follows as a user message.
#[test]
fn image_in_a_result_follows_it_on_chat() {
    let text = r#"{"system":"s","messages":[{"role":"user","content":"look"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"shot","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}]}"#;
    insta::assert_snapshot!(send(text, Wire::OPENAI_CHAT), @r#"
    {"role":"system","content":"s"}
    {"role":"user","content":"look"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"shot","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"a","content":"[image follows]"}
    {"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}
    "#);
}

/// Characters that Anthropic rejects in ids are replaced in calls and results.
#[test]
fn invalid_id_characters_are_replaced_for_anthropic() {
    let text = r#"[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"fn:1|a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"fn:1|a","content":"ok"}]"#;
    let sent = send(text, Wire::ANTHROPIC);
    assert!(!sent.contains("fn:1"), "{sent}");
}

/// A changed message keeps its extra fields.
#[test]
fn unknown_fields_survive_a_repair() {
    let text = r#"[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":"{}"}}],"refusal":null,"audio":{"n":1.0}}]"#;
    let sent = send(text, Wire::OPENAI_CHAT);
    assert!(sent.contains(r#""refusal":null,"audio":{"n":1.0}"#), "{sent}");
}

#[test]
fn lone_surrogates_and_null_contents_are_reported() {
    let conversation = parse(
        r#"[{"role":"user","content":"half \ud83d pair"},{"role":"user","content":null},{"role":"assistant","content":null,"tool_calls":[]}]"#,
    );
    let kinds: Vec<WarningKind> =
        conversation.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::LoneSurrogate, WarningKind::NullContent]);
    let Body::Text(text) = &conversation.messages[0].parts[0].body else { panic!() };
    assert_eq!(text, "half \u{FFFD} pair");
    let sent = send(r#"[{"role":"user","content":"half \ud83d pair"}]"#, Wire::OPENAI_CHAT);
    assert_eq!(
        sent, "{\"role\":\"user\",\"content\":\"half \u{FFFD} pair\"}",
        "the invalid bytes are not sent"
    );
}

#[test]
fn wire_is_detected_from_the_content() {
    let wire = |text: &str| parse(text).wire;
    assert_eq!(wire(r#"[{"role":"user","content":"hi"}]"#), Wire::OPENAI_CHAT);
    assert_eq!(
        wire(
            r#"{"model":"claude-opus-4-6","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}"#
        ),
        Wire::ANTHROPIC
    );
    assert_eq!(
        wire(r#"{"model":"claude-opus-4-6","messages":[{"role":"user","content":"hi"}]}"#),
        Wire::OPENAI_CHAT
    );
    assert_eq!(
        wire(r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#),
        Wire::ANTHROPIC
    );
    assert_eq!(wire(r#"{"input":"hi"}"#), Wire::OPENAI_RESPONSES);
    assert_eq!(
        wire(r#"[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]"#),
        Wire::OPENAI_RESPONSES
    );
    assert_eq!(wire(r#"[{"role":"user","parts":[{"text":"hi"}]}]"#), Wire::GEMINI);
    let stored = r#"{"messages":[{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]}"#;
    assert_eq!(wire(stored), Wire::ANTHROPIC);
}

#[test]
fn invalid_input_is_rejected_with_its_position() {
    let refused =
        |text: &str| wire::parse(&Arc::new(text.to_owned()), None).unwrap_err().to_string();
    assert_eq!(
        refused("{\n  \"messages\": [\n    {\"role\": }"),
        "line 3, column 14: not JSON: expected value"
    );
    assert_eq!(
        refused("\"hello\""),
        "line 1, column 1: not a conversation: expected a list of messages or a request body"
    );
    assert_eq!(
        refused("{\"a\": 1}"),
        "line 1, column 1: not a conversation: no field \"messages\", \"input\" or \"contents\""
    );
    assert_eq!(
        refused("[{\"role\":\"user\",\"content\":\"x\"},\n 7]"),
        "line 2, column 2: not a conversation: message 2: expected a message object"
    );
    assert_eq!(
        refused("[{\"role\":\"wizard\",\"content\":\"x\"}]"),
        "line 1, column 2: not a conversation: message 1: unknown role \"wizard\""
    );
    assert_eq!(
        refused("{\"messages\": {\"a\": 1}}"),
        "line 1, column 14: not a conversation: \"messages\" is not a list of messages"
    );
    assert!(refused("").starts_with("line 1, column"));
}

/// Found by fuzzing: an assistant message that is empty on another wire must not leave two user
/// turns in a row.
#[test]
fn user_turns_around_a_dropped_message_are_merged() {
    let text = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"document","source":{}}]},{"role":"user","content":"still there?"}]"#;
    insta::assert_snapshot!(send(text, Wire::GEMINI), @r#"{"role":"user","parts":[{"text":"hi"},{"text":"still there?"}]}"#);
    let text = r#"[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"executableCode":{}}]},{"role":"user","parts":[{"text":"still there?"}]}]"#;
    insta::assert_snapshot!(send(text, Wire::ANTHROPIC), @r#"{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"still there?"}]}"#);
}

/// Found by fuzzing: a turn without a role gets the role that its parts imply.
#[test]
fn gemini_turn_without_a_role_gets_one() {
    let text = r#"{"contents":[{"parts":[{"text":"hi"}]},{"parts":[{"functionCall":{"name":"f","args":{}}}]}]}"#;
    let sent = send(text, Wire::GEMINI);
    assert!(
        sent.contains(r#"{"role":"user","parts":[{"text":"hi"}]}"#)
            && sent.contains(r#"{"role":"model","#),
        "{sent}"
    );
}

/// Found by fuzzing: a response with a missing or different tool name gets the name of its call.
#[test]
fn gemini_response_gets_the_name_of_its_call() {
    let nameless = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"args":{}}}]},{"role":"user","parts":[{"functionResponse":{"response":{"output":"ok"}}}]}]}"#;
    assert_eq!(send(nameless, Wire::GEMINI).matches(r#""name":"unknown""#).count(), 2);
    let other = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"g","response":{"output":"ok"}}}]}]}"#;
    assert!(send(other, Wire::GEMINI).contains(r#"{"functionResponse":{"name":"f","#));
}

/// An id that is not a string is read as its text, and sent once.
#[test]
fn numeric_id_is_sent_once_as_a_string() {
    let text = r#"[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":5,"type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":5,"content":"k"}]"#;
    insta::assert_snapshot!(send(text, Wire::OPENAI_CHAT), @r#"
    {"role":"user","content":"x"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"5","type":"function","function":{"name":"f","arguments":"{}"}}]}
    {"role":"tool","tool_call_id":"5","content":"k"}
    "#);
}

/// A leading system message in Anthropic's list becomes the system prompt.
#[test]
fn leading_system_message_of_anthropics_list_becomes_the_system_prompt() {
    let text = r#"[{"role":"system","content":"Be brief."},{"role":"user","content":[{"type":"document","source":{}}]}]"#;
    assert!(
        send(text, Wire::ANTHROPIC).starts_with(r#"system [{"type":"text","text":"Be brief."}]"#)
    );
}

/// A compaction made by the provider may come first.
#[test]
fn compaction_block_stays_first() {
    let text = r#"[{"role":"assistant","content":[{"type":"compaction","content":"s"}]},{"role":"user","content":[{"type":"text","text":"go on"},{"type":"document","source":{}}]}]"#;
    assert!(
        send(text, Wire::ANTHROPIC)
            .starts_with(r#"{"role":"assistant","content":[{"type":"compaction""#)
    );
}

/// Lone surrogates are also replaced inside JSON: in arguments and in opaque blocks.
#[test]
fn lone_surrogates_inside_json_are_replaced() {
    let text = r#"[{"role":"user","content":[{"type":"document","title":"\ud83d"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"p":"\udc00x"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#;
    let sent = send(text, Wire::ANTHROPIC);
    assert!(
        !sent.contains("ud83d") && !sent.contains("udc00") && sent.matches("ufffd").count() == 2,
        "{sent}"
    );
}

/// Computer, shell and patch calls stay with their outputs and are sent back unchanged.
#[test]
fn every_kind_of_responses_call_is_paired() {
    let text = r#"{"input":[{"role":"user","content":"click"},{"type":"computer_call","call_id":"c1","id":"cu_1","action":{"type":"click","x":1.0},"status":"completed"},{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"data:x"}}]}"#;
    let history = history(parse(text));
    assert_eq!(history.atoms().len(), 2);
    assert!(send(text, Wire::OPENAI_RESPONSES).contains(r#""action":{"type":"click","x":1.0}"#));
    assert!(send(text, Wire::OPENAI_CHAT).contains("computer_call"));
}

/// Images given as `data:` URLs work on every wire; an image in a result reaches Gemini too.
#[test]
fn images_are_converted_between_wires() {
    let text = r#"{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}]}"#;
    assert!(send(text, Wire::ANTHROPIC).contains(r#""media_type":"image/png","data":"AAAA""#));
    let shot = r#"[{"role":"user","content":"look"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"shot","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}]"#;
    assert!(
        send(shot, Wire::GEMINI)
            .contains(r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"}}"#)
    );
}

/// Older clients of the chat wire send these fields instead of content.
#[test]
fn legacy_calls_and_refusals_are_not_empty_messages() {
    let legacy = r#"[{"role":"user","content":"x"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"42"}]"#;
    let sent = send(legacy, Wire::OPENAI_CHAT);
    assert!(
        sent.contains(r#""tool_calls":[{"id":"call_1_0""#)
            && sent.contains(r#""tool_call_id":"call_1_0","content":"42""#),
        "{sent}"
    );
    let refusal = r#"[{"role":"user","content":"x"},{"role":"assistant","content":null,"refusal":"I will not."},{"role":"user","content":"ok"}]"#;
    assert_eq!(send(refusal, Wire::OPENAI_CHAT).lines().count(), 3);
    let object = r#"[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":{"ok":true}}]"#;
    assert!(send(object, Wire::OPENAI_CHAT).contains(r#""content":"{\"ok\":true}""#));
}

/// A changed message keeps the extra fields of its parts.
#[test]
fn fields_of_parts_survive_a_repair() {
    let chat = r#"[{"role":"developer","content":"d","n":1.0},{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":" "}]},{"role":"assistant","content":" ","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]},{"role":"tool","tool_call_id":"a","content":"k"}]"#;
    let sent = send(chat, Wire::OPENAI_CHAT);
    assert!(
        sent.contains("cache_control")
            && sent.contains("thought_signature")
            && sent.contains("developer"),
        "{sent}"
    );
    let anthropic = r#"[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":" "},{"type":"document","source":{}}]}]"#;
    assert!(send(anthropic, Wire::ANTHROPIC).contains("cache_control"));
    let responses = r#"{"input":[{"role":"user","content":"x"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":""},{"type":"function_call_output","call_id":"a","output":"k"}]}"#;
    assert!(
        send(responses, Wire::OPENAI_RESPONSES).contains(r#""id":"fc_1""#),
        "the reasoning before it requires this id"
    );
}

/// Anthropic rejects a failed result without output, and thinking without a signature.
#[test]
fn empty_failures_and_unsigned_thinking_are_repaired_for_anthropic() {
    let text = r#"[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","data":"d"},{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":""}]}]"#;
    let sent = send(text, Wire::ANTHROPIC);
    assert!(!sent.contains("thinking") && sent.contains("failed without output"), "{sent}");
}

/// Gemini accepts two names per field, and matches calls and responses by order.
#[test]
fn gemini_accepts_snake_case_and_orders_responses_by_call() {
    let snake = r#"{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"output":"ok","error":null}}}]}]}"#;
    let sent = send(snake, Wire::OPENAI_CHAT);
    assert!(sent.contains(r#""tool_calls""#) && sent.contains(r#""role":"tool""#), "{sent}");
    let ids = r#"{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}},{"functionCall":{"id":"2","name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"2","name":"f","response":{"output":"TWO"}}}]}]}"#;
    let sent = send(ids, Wire::GEMINI);
    assert!(sent.find("interrupted").unwrap() < sent.find("TWO").unwrap(), "{sent}");
}

/// An interrupted custom call gets an output of its own type.
#[test]
fn interrupted_custom_call_gets_a_custom_output() {
    let text = r#"{"input":[{"role":"user","content":"x"},{"type":"custom_tool_call","call_id":"c","name":"g","input":"y"}]}"#;
    assert!(
        send(text, Wire::OPENAI_RESPONSES)
            .contains(r#"{"type":"custom_tool_call_output","call_id":"c""#)
    );
}

/// Found by fuzzing: calls without id or input, and references to items stored by the provider.
#[test]
fn calls_without_id_or_input_are_still_calls() {
    let text = r#"{"input":[{"role":"user","content":"x"},{"type":"function_call","name":"f","arguments":"{}"},{"id":"ws_1"}]}"#;
    let sent = send(text, Wire::OPENAI_RESPONSES);
    assert!(
        sent.contains(r#""call_id":"call_1_0""#) && sent.contains(r#"{"id":"ws_1"}"#),
        "{sent}"
    );
    let text = r#"[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f"}]}]"#;
    assert!(send(text, Wire::ANTHROPIC).contains(r#""input":{}"#));
}

/// The checker finds each kind of violation on each wire.
#[test]
fn check_finds_violations_on_every_wire() {
    let rules = |wire: Wire, text: &str| {
        let conversation = wire::parse(&Arc::new(text.to_owned()), Some(wire)).unwrap();
        let list: Vec<&str> = conversation.list().collect();
        wire::check(wire, &list).into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
        )
    };
    let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"ok"}}"#);
    let user = r#"{"role":"user","content":"hi"}"#;
    assert_eq!(rules(Wire::OPENAI_CHAT, &format!("[{user},{},{user}]", call("a"))), ["V2"]);
    assert_eq!(rules(Wire::OPENAI_CHAT, &format!("[{user},{}]", result("a"))), ["V1"]);
    assert_eq!(
        rules(
            Wire::OPENAI_CHAT,
            &format!("[{user},{},{},{},{}]", call("a"), result("a"), call("a"), result("a"))
        ),
        ["V3"]
    );
    assert_eq!(rules(Wire::OPENAI_CHAT, r#"[{"role":"user","content":" "}]"#), ["V6"]);
    assert_eq!(
        rules(
            Wire::ANTHROPIC,
            r#"[{"role":"assistant","content":"hi"},{"role":"assistant","content":"hi"}]"#
        ),
        ["V4", "V5"]
    );
    assert_eq!(
        rules(
            Wire::ANTHROPIC,
            r#"[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"first"},{"type":"tool_result","tool_use_id":"a"}]}]"#
        ),
        ["V5"]
    );
    assert_eq!(
        rules(Wire::ANTHROPIC, r#"[{"role":"user","content":[{"type":"text","text":" "}]}]"#),
        ["V6"]
    );
    assert_eq!(
        rules(
            Wire::OPENAI_RESPONSES,
            r#"[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"role":"user","content":"x"}]"#
        ),
        ["V2"]
    );
    assert_eq!(
        rules(
            Wire::OPENAI_RESPONSES,
            r#"[{"type":"function_call_output","call_id":"a","output":"x"}]"#
        ),
        ["V1"]
    );
    assert_eq!(
        rules(
            Wire::GEMINI,
            r#"[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"text":"x"}]}]"#
        ),
        ["V4", "V2"]
    );
}
