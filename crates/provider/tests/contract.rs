//! Contract tests: every provider against a server that speaks its protocol, with faults.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod events;

use std::io::{Read as _, Write as _};
use std::time::Duration;

use events::events;
use serde_json::{Value, json};
use waterline::message::{Message, Wire};
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::retry::Retry;
use waterline_provider::wire::{self, Options, Shape};
use waterline_provider::{CallError, Model as _, Request, ask};
use waterline_testkit::server::{Reply, Server, bytes, owned};

const SECRET: &str = "sk-a-very-secret-key";

/// Short timeouts, so that tests are fast.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_token: Duration::from_millis(400),
    silence: Duration::from_millis(400),
};

async fn call(url: &str, wire: Wire) -> (Vec<Delta>, Result<Answer, CallError>) {
    call_for(None, url, wire).await
}

async fn call_for(
    shape: Option<Shape>,
    url: &str,
    wire: Wire,
) -> (Vec<Delta>, Result<Answer, CallError>) {
    let endpoint =
        Endpoint::new(wire, Some(url), Some(Key::new(format!(" {SECRET}\n"))), TIMEOUTS).unwrap();
    let endpoint = endpoint.with_cache_key(true);
    let conversation = [Message::system("be brief"), Message::user("look at a.rs: 数据")];
    let messages: Vec<&Message> = conversation.iter().collect();
    let context = wire::render(wire, &messages);
    let options = Options {
        max_tokens: Some(500),
        temperature: Some(0.0),
        cache_key: Some("s1".into()),
        shape,
        ..Options::default()
    };
    let mut deltas = Vec::new();
    let request = Request::new("some-model", &messages, &context).options(&options);
    let outcome = ask(&endpoint, request, |delta| deltas.push(delta)).await;
    (deltas, outcome)
}

/// Makes the same call on every wire, against a server that behaves the same on each.
async fn for_each_wire(
    script: impl Fn(Wire) -> Reply,
    check: impl Fn(Wire, &Server, Vec<Delta>, Result<Answer, CallError>),
) {
    for wire in waterline_testkit::WIRES {
        let reply = script(wire);
        let server = Server::start(move |_| reply.clone()).await.unwrap();
        let (deltas, outcome) = call(&server.url, wire).await;
        if let Err(error) = &outcome {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(SECRET), "{wire}: {shown}");
        }
        check(wire, &server, deltas, outcome);
    }
}

#[tokio::test]
async fn answer_arrives_in_chunks_of_any_size() {
    for piece in [0, 1, 7, 1_000] {
        for_each_wire(
            |wire| Reply::Stream { events: owned(events(wire)), piece },
            |wire, _, deltas, outcome| {
                let answer = outcome.unwrap();
                assert_eq!(
                    (answer.stop, answer.usage.prompt()),
                    (Stop::Calls, 105),
                    "{wire} in chunks of {piece}"
                );
                let text: String = answer.messages.iter().map(Message::text).collect();
                assert_eq!(text, "I will look: 数据.", "{wire} in chunks of {piece}");
                assert!(deltas.len() > 5, "{wire}");
            },
        )
        .await;
    }
}

/// An answer may take longer than the timeout, as long as data keeps arriving.
#[tokio::test]
async fn slow_answer_arrives() {
    for_each_wire(
        |wire| Reply::Slow { events: owned(events(wire)), pause: Duration::from_millis(60) },
        |wire, _, deltas, outcome| {
            assert_eq!(outcome.unwrap().stop, Stop::Calls, "{wire}");
            assert!(deltas.len() > 5, "{wire}");
        },
    )
    .await;
}

#[tokio::test]
async fn request_has_the_path_headers_and_body_of_its_provider() {
    for_each_wire(
        |wire| Reply::stream(events(wire)),
        |wire, server, _, outcome| {
            outcome.unwrap();
            let received = server.received().remove(0);
            let body: serde_json::Value = serde_json::from_str(&received.body).unwrap();
            let (path, key) = match wire.name() {
                "openai-chat" => {
                    ("/v1/chat/completions", ("authorization", format!("Bearer {SECRET}")))
                }
                "openai-responses" => {
                    ("/v1/responses", ("authorization", format!("Bearer {SECRET}")))
                }
                "anthropic" => ("/v1/messages", ("x-api-key", SECRET.to_owned())),
                _ => (
                    "/v1beta/models/some-model:streamGenerateContent?alt=sse",
                    ("x-goog-api-key", SECRET.to_owned()),
                ),
            };
            assert_eq!(
                (received.path.as_str(), received.header(key.0)),
                (path, Some(key.1.as_str())),
                "{wire}"
            );
            assert!(!received.body.contains(SECRET));
            assert!(received.body.contains("数据") && received.body.contains("be brief"), "{wire}");
            match wire.name() {
                "openai-chat" => {
                    assert_eq!(
                        (&body["max_tokens"], &body["stream_options"]["include_usage"]),
                        (&500.into(), &true.into())
                    );
                    assert_eq!(body["prompt_cache_key"], "s1");
                }
                "openai-responses" => {
                    assert_eq!(
                        (&body["max_output_tokens"], &body["store"]),
                        (&500.into(), &false.into())
                    )
                }
                "anthropic" => {
                    assert_eq!(
                        (&body["max_tokens"], received.header("anthropic-version")),
                        (&500.into(), Some("2023-06-01"))
                    );
                    assert_eq!(
                        received.body.matches("cache_control").count(),
                        2,
                        "after the system prompt and the newest message"
                    );
                }
                _ => assert_eq!(body["generationConfig"]["maxOutputTokens"], 500),
            }
        },
    )
    .await;
}

/// Each provider has its own field for the shape of the answer. Anthropic has none.
#[tokio::test]
async fn shape_is_rendered_for_each_provider() {
    let schema = json!({"type": "object", "required": ["n"]});
    let strict = Shape::Schema { schema: schema.to_string(), strict: Some(true) };
    let lenient = Shape::Schema { schema: schema.to_string(), strict: None };
    let named = json!({"name": "answer", "schema": schema});
    let flat = json!({"type": "json_schema", "name": "answer", "schema": schema});
    let json = "application/json";
    for (wire, shape, pointer, expected) in [
        (
            Wire::OPENAI_CHAT,
            &lenient,
            "/response_format",
            json!({"type": "json_schema", "json_schema": named}),
        ),
        (Wire::OPENAI_CHAT, &strict, "/response_format/json_schema/strict", json!(true)),
        (Wire::OPENAI_CHAT, &Shape::Object, "/response_format", json!({"type": "json_object"})),
        (Wire::OPENAI_RESPONSES, &lenient, "/text/format", flat),
        (Wire::OPENAI_RESPONSES, &strict, "/text/format/strict", json!(true)),
        (Wire::OPENAI_RESPONSES, &Shape::Object, "/text/format", json!({"type": "json_object"})),
        (Wire::GEMINI, &lenient, "/generationConfig/responseMimeType", json!(json)),
        (Wire::GEMINI, &lenient, "/generationConfig/responseJsonSchema", schema.clone()),
        (Wire::GEMINI, &Shape::Object, "/generationConfig/responseMimeType", json!(json)),
        (Wire::GEMINI, &Shape::Object, "/generationConfig/responseJsonSchema", Value::Null),
    ] {
        let server = Server::start(move |_| Reply::stream(events(wire))).await.unwrap();
        call_for(Some(shape.clone()), &server.url, wire).await.1.unwrap();
        let body: Value = serde_json::from_str(&server.received()[0].body).unwrap();
        assert_eq!(
            body.pointer(pointer).cloned().unwrap_or_default(),
            expected,
            "{wire} {pointer}"
        );
        assert_eq!(body["generationConfig"].is_null(), wire != Wire::GEMINI, "{wire}");
    }
    let server = Server::start(|_| Reply::stream(events(Wire::ANTHROPIC))).await.unwrap();
    call_for(Some(lenient), &server.url, Wire::ANTHROPIC).await.1.unwrap();
    call(&server.url, Wire::ANTHROPIC).await.1.unwrap();
    let received = server.received();
    assert_eq!(received[0].body, received[1].body);
}

/// On some compatible servers, a shape prevents the model from calling tools.
#[test]
fn shape_with_tools_is_sent_only_to_the_providers_own_address() {
    let takes = |wire, base, with_tools| {
        Endpoint::new(wire, base, None, TIMEOUTS).unwrap().takes_shape(with_tools)
    };
    for wire in [Wire::OPENAI_CHAT, Wire::OPENAI_RESPONSES, Wire::GEMINI] {
        assert!(takes(wire, None, true) && takes(wire, None, false), "{wire}");
        assert!(takes(wire, Some("http://127.0.0.1:9/v1"), false), "{wire}");
        assert!(!takes(wire, Some("http://127.0.0.1:9/v1"), true), "{wire}");
    }
    assert!(takes(Wire::OPENAI_CHAT, Some("https://api.openai.com/"), true));
    assert!(!takes(Wire::ANTHROPIC, None, false));
}

async fn refuses(status: u16, message: &str) -> bool {
    let body = json!({"error": {"message": message}}).to_string();
    let server = Server::start(move |_| Reply::status(status, body.clone())).await.unwrap();
    call(&server.url, Wire::OPENAI_CHAT).await.1.unwrap_err().refuses_shape()
}

/// Real error bodies of servers that do not support a shape, and other errors.
#[tokio::test]
async fn shape_refusal_is_distinguished_from_other_errors() {
    assert!(refuses(400, "This response_format type is unavailable now").await);
    assert!(
        refuses(
            400,
            "Function calling with a response mime type: 'application/json' is unsupported"
        )
        .await
    );
    assert!(
        refuses(
            400,
            "Unknown name \"responseJsonSchema\" at 'generation_config': Cannot find field."
        )
        .await
    );
    assert!(refuses(500, "Cannot use custom grammar constraints with tools.").await);
    assert!(refuses(400, "Structured answers are not supported here").await);
    assert!(!refuses(400, "no such parameter").await);
    assert!(!refuses(400, "this model is not supported").await);
    assert!(!refuses(400, "unsupported value: 'temperature'").await);
    assert!(!refuses(401, "json_schema").await, "an invalid key fails without the shape too");
    assert!(!refuses(400, "prompt is too long: 9 tokens > 8 maximum (json_schema)").await);
}

#[tokio::test]
async fn base_address_works_with_and_without_the_version() {
    for suffix in ["", "/", "/v1", "/v1/"] {
        let server = Server::start(|_| Reply::stream(events(Wire::OPENAI_CHAT))).await.unwrap();
        call(&format!("{}{suffix}", server.url), Wire::OPENAI_CHAT).await.1.unwrap();
        assert_eq!(server.received()[0].path, "/v1/chat/completions", "{suffix:?}");
    }
}

#[tokio::test]
async fn refusal_keeps_status_headers_and_body() {
    let reply = || Reply::Status {
        status: 429,
        headers: "retry-after: 7\r\nx-request-id: r1\r\n".into(),
        body: r#"{"error":{"message":"slow down"}}"#.into(),
    };
    for_each_wire(
        |_| reply(),
        |wire, _, _, outcome| {
            let error = outcome.unwrap_err();
            assert_eq!(error.to_string(), "rate limited (429): slow down", "{wire}");
            assert!(error.overflow().is_none() && error.partial().is_none());
            let CallError::Refused(refused) = error else { unreachable!("it was refused") };
            assert_eq!(
                (refused.header("Retry-After"), refused.header("x-request-id")),
                (Some("7"), Some("r1"))
            );
            assert_eq!(refused.body, r#"{"error":{"message":"slow down"}}"#);
        },
    )
    .await;
}

#[tokio::test]
async fn overflow_error_reports_the_window() {
    let body = concat!(
        r#"{"error":{"code":400,"message":"request (5120 tokens) exceeds the available context "#,
        r#"size (4096 tokens)","type":"exceed_context_size_error"}}"#
    );
    for_each_wire(
        |_| Reply::status(400, body),
        |wire, _, _, outcome| {
            let error = outcome.unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("context window exceeded (400): request"), "{wire}: {text}");
            let found = error.overflow().unwrap();
            assert_eq!((found.window, found.prompt), (Some(4_096), Some(5_120)), "{wire}");
        },
    )
    .await;
}

#[tokio::test]
async fn response_that_is_not_a_stream_is_an_error() {
    for body in ["<html><body>It works!</body></html>", "{\"choices\":", ""] {
        for_each_wire(
            |_| Reply::status(200, body),
            |wire, _, _, outcome| {
                assert!(matches!(outcome, Err(CallError::NotAStream { .. })), "{wire}: {body}")
            },
        )
        .await;
    }
    for_each_wire(
        |_| Reply::status(502, "<html>Bad Gateway</html>"),
        |wire, _, _, outcome| {
            assert!(outcome.unwrap_err().to_string().contains("Bad Gateway"), "{wire}")
        },
    )
    .await;
}

/// The answer of `events`, as a server sends it that ignores `stream`.
fn whole(wire: Wire) -> Value {
    let arguments = r#"{"path": "a.rs", "n": 1.0}"#;
    match wire.name() {
        "openai-chat" => json!({
            "object": "chat.completion", "model": "gpt-x",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "I will look: 数据.", "reasoning_content": "Let me see.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read", "arguments": arguments}},
                    {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
                ],
            }}],
            "usage": {"prompt_tokens": 105, "completion_tokens": 42,
                "prompt_tokens_details": {"cached_tokens": 90}},
        }),
        "openai-responses" => json!({
            "object": "response", "model": "gpt-x", "status": "completed", "error": null,
            "output": [
                {"type": "reasoning", "id": "rs", "encrypted_content": "c2ln", "summary": []},
                {"type": "message", "role": "assistant", "content": [
                    {"type": "output_text", "text": "I will look: 数据.", "annotations": []},
                ]},
                {"type": "function_call", "call_id": "c1", "name": "read", "arguments": arguments},
                {"type": "function_call", "call_id": "c2", "name": "now", "arguments": "{}"},
            ],
            "usage": {"input_tokens": 105, "output_tokens": 42,
                "input_tokens_details": {"cached_tokens": 90}},
        }),
        "anthropic" => json!({
            "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
                {"type": "text", "text": "I will look: 数据."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.rs", "n": 1.0}},
                {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
            ],
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 90,
                "cache_creation_input_tokens": 5, "output_tokens": 42},
        }),
        _ => json!({
            "modelVersion": "gemini-x",
            "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": "Let me see.", "thought": true},
                {"text": "I will look: 数据."},
                {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a.rs", "n": 1.0}}},
                {"functionCall": {"id": "c2", "name": "now", "args": {}}},
            ]}}],
            "usageMetadata": {"promptTokenCount": 105, "cachedContentTokenCount": 90,
                "candidatesTokenCount": 42},
        }),
    }
}

#[tokio::test]
async fn answer_of_a_server_that_does_not_stream_is_read() {
    for_each_wire(
        |wire| Reply::status(200, whole(wire).to_string()),
        |wire, _, deltas, outcome| {
            let answer = outcome.unwrap();
            assert_eq!(answer.stop, Stop::Calls, "{wire}");
            assert_eq!((answer.usage.prompt(), answer.usage.output), (105, 42), "{wire}");
            assert!(answer.model.is_some_and(|name| name.ends_with("-x")), "{wire}");
            let text: String = answer.messages.iter().map(Message::text).collect();
            assert_eq!(text, "I will look: 数据.", "{wire}");
            let streamed = deltas.contains(&Delta::Text("I will look: 数据.".to_owned()));
            assert!(streamed, "{wire}: {deltas:?}");
            let calls: Vec<(String, Value)> = answer
                .messages
                .iter()
                .flat_map(Message::calls)
                .map(|call| (call.name.clone(), serde_json::from_str(&call.arguments).unwrap()))
                .collect();
            let read = ("read".to_owned(), json!({"path": "a.rs", "n": 1.0}));
            assert_eq!(calls, [read, ("now".to_owned(), json!({}))], "{wire}");
        },
    )
    .await;
}

#[tokio::test]
async fn error_in_a_successful_response_is_an_error() {
    for_each_wire(
        |_| Reply::status(200, json!({"error": {"message": "overloaded"}}).to_string()),
        |wire, _, _, outcome| {
            let error = outcome.unwrap_err();
            assert_eq!(error.to_string(), "the provider reported an error: overloaded", "{wire}");
        },
    )
    .await;
    for_each_wire(
        |_| Reply::status(200, json!({"error": {"message": "pay", "code": 402}}).to_string()),
        |wire, _, _, outcome| {
            let error = outcome.unwrap_err();
            assert!(
                matches!(&error, CallError::Refused(refused) if refused.status == 402),
                "{wire}: {error}"
            );
        },
    )
    .await;
    // Gemini's form.
    for_each_wire(
        |_| Reply::status(200, json!([{"error": {"message": "pay", "code": 402}}]).to_string()),
        |wire, _, _, outcome| {
            let error = outcome.unwrap_err();
            assert!(
                matches!(&error, CallError::Refused(refused) if refused.status == 402),
                "{wire}: {error}"
            );
        },
    )
    .await;
    for_each_wire(
        |_| Reply::status(200, json!({"error": "prompt is too long: 9 > 8"}).to_string()),
        |wire, _, _, outcome| {
            let overflow = outcome.unwrap_err().overflow();
            assert_eq!(overflow.and_then(|found| found.window), Some(8), "{wire}");
        },
    )
    .await;
}

/// A page of a proxy must not fill the screen, and a key that a server repeats must not be shown.
/// `for_each_wire` checks every error for the key.
#[tokio::test]
async fn error_text_is_short_and_has_no_key() {
    let page = format!("<html>{SECRET} {}</html>", "x".repeat(500_000));
    // With JSON escapes, which are decoded when the message is shown.
    let escaped: String = SECRET.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let escaped = format!(r#"{{"error": {{"message": "bad key {escaped}"}}}}"#);
    let echoes = [
        Reply::status(400, escaped.clone()),
        Reply::status(200, escaped),
        Reply::status(200, page.clone()),
        Reply::status(500, page),
        Reply::status(400, json!({"error": {"message": format!("bad key {SECRET}")}}).to_string()),
        Reply::status(200, json!({"error": {"message": format!("bad key {SECRET}")}}).to_string()),
        Reply::Status {
            status: 302,
            headers: format!("location: http://x/?key={SECRET}\r\nx-key: {SECRET}\r\n"),
            body: String::new(),
        },
        Reply::stream(&[&json!({"type": "error", "error": {"message": SECRET}}).to_string()]),
    ];
    for reply in echoes {
        for_each_wire(
            |_| reply.clone(),
            |wire, _, _, outcome| {
                let shown = outcome.unwrap_err().to_string();
                assert!(shown.len() < 400, "{wire}: {} bytes", shown.len());
            },
        )
        .await;
    }
    let endpoint = format!("http://127.0.0.1:1/{SECRET}");
    let error = call(&endpoint, Wire::OPENAI_CHAT).await.1.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error}");
}

#[tokio::test]
async fn silent_server_times_out() {
    for_each_wire(
        |_| Reply::Hang,
        |wire, _, _, outcome| assert!(matches!(outcome, Err(CallError::Timeout { .. })), "{wire}"),
    )
    .await;
    for_each_wire(
        |wire| Reply::Stall { events: owned(events(wire)), after: events(wire).len() - 1 },
        |wire, _, deltas, outcome| {
            let error = outcome.unwrap_err();
            assert!(
                error.to_string().contains("no data from the server for 0.4 s"),
                "{wire}: {error}"
            );
            let kept: String =
                error.partial().unwrap().messages.iter().map(Message::text).collect();
            let streamed: String = deltas
                .iter()
                .filter_map(
                    |delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None },
                )
                .collect();
            assert_eq!(kept, streamed, "{wire}");
        },
    )
    .await;
}

/// A stream that ends at any byte is an error with the partial answer.
#[tokio::test]
async fn interrupted_stream_keeps_the_partial_answer() {
    for part in 0..20 {
        for_each_wire(
            |wire| {
                let events = owned(events(wire));
                let at = bytes(&events).len() * part / 20;
                Reply::Cut { events, at }
            },
            |wire, _, deltas, outcome| {
                let error = outcome.unwrap_err();
                let streamed: String = deltas
                    .iter()
                    .filter_map(|delta| {
                        if let Delta::Text(text) = delta { Some(text.as_str()) } else { None }
                    })
                    .collect();
                let kept: String =
                    error.partial().unwrap().messages.iter().map(Message::text).collect();
                assert_eq!(kept, streamed, "{wire} interrupted at {part}/20");
                let calls = error.partial().unwrap().messages.iter().flat_map(Message::calls);
                assert!(
                    calls.into_iter().all(|call| waterline::json::is_object(&call.arguments)),
                    "{wire} interrupted at {part}/20"
                );
            },
        )
        .await;
    }
}

#[tokio::test]
async fn refused_connection_asks_whether_the_server_is_running() {
    let error = call("http://127.0.0.1:1", Wire::OPENAI_CHAT).await.1.unwrap_err();
    assert!(
        matches!(error, CallError::Connect { .. })
            && error.to_string().contains("connection refused; is the server running"),
        "{error}"
    );
}

/// A TLS server closes a connection without a handshake. The address is then wrong, so the call is
/// not retried.
#[tokio::test]
async fn a_server_that_expects_tls_is_recognized() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        const HANDSHAKE: u8 = 0x16;
        const HANDSHAKE_FAILURE: &[u8] = &[0x15, 3, 3, 0, 2, 2, 40];
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut first = [0];
            stream.read_exact(&mut first).unwrap();
            if first == [HANDSHAKE] {
                stream.write_all(HANDSHAKE_FAILURE).unwrap();
            }
        }
    });
    let error = call(&format!("http://{address}"), Wire::OPENAI_CHAT).await.1.unwrap_err();
    let expected = "the server expects TLS; use https:// in the address";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert_eq!(Retry::default().wait(&error, 1, 0.0), None);
}

/// The cause is named in plain words, and the address is in the text.
#[tokio::test]
async fn failed_connections_say_what_happened() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = std::io::Write::write_all(&mut stream.unwrap(), b"not TLS\n");
        }
    });
    for (base, cause) in [
        ("http://127.0.0.1:1".to_owned(), "connection refused"),
        ("http://no-such-host.invalid".to_owned(), "name not found"),
        (format!("https://{address}"), "the server does not speak TLS; use http://"),
    ] {
        let error = call(&base, Wire::OPENAI_CHAT).await.1.unwrap_err().to_string();
        let host = base.split("://").nth(1).unwrap();
        assert!(error.contains(cause) && error.contains(host), "{error}");
        assert!(!error.contains("client error"), "{error}");
    }
}

/// Dropping the call cancels it: the server sees the connection close.
#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let server =
        Server::start(|_| Reply::Stall { events: owned(events(Wire::ANTHROPIC)), after: 5 })
            .await
            .unwrap();
    let outcome =
        tokio::time::timeout(Duration::from_millis(100), call(&server.url, Wire::ANTHROPIC)).await;
    assert!(outcome.is_err());
    assert_eq!(server.received().len(), 1);
}

/// A server may send a first event at once and read the prompt only then.
#[tokio::test]
async fn silence_before_the_first_token_has_its_own_limit() {
    let timeouts = Timeouts {
        first_token: Duration::from_millis(600),
        silence: Duration::from_millis(100),
        ..TIMEOUTS
    };
    let wire = Wire::ANTHROPIC;
    for (after, limit) in [(1, "0.6 s"), (events(wire).len() - 1, "0.1 s")] {
        let server = Server::start(move |_| Reply::Stall { events: owned(events(wire)), after })
            .await
            .unwrap();
        let endpoint = Endpoint::new(wire, Some(&server.url), None, timeouts).unwrap();
        let message = Message::user("how high is the tide?");
        let context = wire::render(wire, &[&message]);
        let messages = [&message];
        let outcome = ask(&endpoint, Request::new("m", &messages, &context), |_| ()).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(&format!("no data from the server for {limit}")), "{error}");
    }
}

/// An error response whose body never arrives is still an error response.
#[tokio::test]
async fn stalled_error_body_times_out() {
    for_each_wire(
        |_| Reply::Stuck(500),
        |wire, _, _, outcome| {
            let CallError::Refused(refused) = outcome.unwrap_err() else {
                unreachable!("{wire}: it was refused")
            };
            assert_eq!((refused.status, refused.body.as_str()), (500, ""), "{wire}");
        },
    )
    .await;
}

/// A redirect would send the key to another address.
#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Server::start(|_| Reply::status(200, "thank you")).await.unwrap();
    let headers = format!("location: {}/v1/messages\r\n", other.url);
    for_each_wire(
        |_| Reply::Status { status: 307, headers: headers.clone(), body: String::new() },
        |wire, _, _, outcome| {
            let error = outcome.unwrap_err();
            assert!(
                matches!(&error, CallError::Refused(refused) if refused.status == 307),
                "{wire}: {error}"
            );
        },
    )
    .await;
    assert!(other.received().is_empty());
}

/// Addresses are stored and shown, so they must not contain secrets.
#[test]
fn address_with_a_secret_is_rejected() {
    for address in [
        "https://me:secret@host/v1",
        "https://host/v1?key=secret",
        "https://host/#secret",
        "me:secret@host/v1",
        "https:/me:secret@host/v1",
    ] {
        let error = Endpoint::new(Wire::OPENAI_CHAT, Some(address), None, TIMEOUTS).unwrap_err();
        assert!(
            matches!(error, CallError::SecretInUrl) && !error.to_string().contains("secret"),
            "{error}"
        );
    }
}

/// A strict server rejects a request with a field that it does not know.
#[tokio::test]
async fn the_key_of_the_cache_is_sent_only_to_a_server_that_takes_it() {
    let wire = Wire::OPENAI_CHAT;
    let server = Server::start(move |_| Reply::Stream { events: owned(events(wire)), piece: 0 });
    let server = server.await.unwrap();
    let endpoint = Endpoint::new(wire, Some(&server.url), None, TIMEOUTS).unwrap();
    let message = Message::user("hi");
    let context = wire::render(wire, &[&message]);
    let options = Options { cache_key: Some("s1".into()), ..Options::default() };
    let messages = [&message];
    let request = Request::new("some-model", &messages, &context).options(&options);
    for (endpoint, expected) in [(endpoint.clone(), 0), (endpoint.with_cache_key(true), 1)] {
        ask(&endpoint, request, |_| ()).await.unwrap();
        let body = server.received().pop().unwrap().body;
        assert_eq!(body.matches("prompt_cache_key").count(), expected, "{body}");
    }
}
