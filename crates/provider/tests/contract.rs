//! Contract tests: every provider against a server that speaks its protocol, with faults.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod events;

use std::time::Duration;

use events::events;
use serde_json::{Value, json};
use waterline::message::{Message, Wire};
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_provider::http::{Endpoint, Key, Timeouts};
use waterline_provider::wire::{self, Options, Shape};
use waterline_provider::{CallError, Model as _, Request, ask};
use waterline_testkit::server::{Reply, Server, bytes, owned};

const SECRET: &str = "sk-a-very-secret-key";

/// Short timeouts, so that tests are fast.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_millis(400),
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
    let body = r#"{"error":{"code":400,"message":"request (5120 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}"#;
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
                assert!(matches!(outcome, Err(CallError::Malformed { .. })), "{wire}: {body}")
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

#[tokio::test]
async fn silent_server_times_out() {
    for_each_wire(
        |_| Reply::Hang,
        |wire, _, _, outcome| assert!(matches!(outcome, Err(CallError::Silent { .. })), "{wire}"),
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
            && error.to_string().contains("is the server running"),
        "{error}"
    );
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
    for address in
        ["https://me:secret@host/v1", "https://host/v1?key=secret", "https://host/#secret"]
    {
        let error = Endpoint::new(Wire::OPENAI_CHAT, Some(address), None, TIMEOUTS).unwrap_err();
        assert!(
            matches!(error, CallError::Address) && !error.to_string().contains("secret"),
            "{error}"
        );
    }
}
