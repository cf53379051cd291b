//! A custom wire format for an invented protocol, added only through the public extension point.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod telegraph;

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Value, json};
use telegraph::{Telegraph, telegraph};
use waterline::message::{Message, Wire};
use waterline_provider::answer::Delta;
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::wire::{self, Options};
use waterline_provider::{Event, Model, Request, ask};
use waterline_testkit::server::{Reply, Server};

const BODY: &str = concat!(
    r#"{"station":"morse-1","wires":[{"from":"office","say":"be brief"},{"from":"us",  "#,
    r#""say":"hello"}]}"#
);

#[test]
fn conversation_is_detected_parsed_rendered_and_checked() {
    let wire = telegraph();
    assert_eq!((wire::named("telegraph"), wire::of_model("x/morse-1")), (Ok(wire), wire));
    let parsed = wire::parse(&Arc::new(BODY.to_owned()), None).unwrap();
    assert_eq!((parsed.wire, parsed.messages[1].text().as_str()), (wire, "hello"));
    let messages: Vec<&Message> = parsed.messages.iter().collect();
    let rendered = wire::render(wire, &messages);
    assert_eq!(
        rendered.texts()[1],
        r#"{"from":"us",  "say":"hello"}"#,
        "unchanged messages keep their bytes"
    );
    assert!(wire::check(wire, &rendered.texts()).is_empty());
    assert_eq!(wire::check(wire, &[r#"{"from":"us","say":""}"#]).len(), 1);
    // To another wire and back.
    let chat = wire::render(Wire::OPENAI_CHAT, &messages);
    assert_eq!(chat.texts()[0], r#"{"role":"system","content":"be brief"}"#);
    let made = wire::render(wire, &[&Message::user("again")]);
    assert_eq!(made.texts(), [r#"{"from":"us","say":"again"}"#]);
    assert!(!wire::register(&Telegraph), "a name can be registered only once");
}

#[tokio::test]
async fn endpoint_calls_a_server_of_the_custom_wire() {
    let wire = telegraph();
    let server =
        Server::start(|_| Reply::stream(&[r#""all""#, r#""well""#, r#""STOP""#])).await.unwrap();
    let endpoint = Endpoint::new(wire, Some(&server.url), None, Timeouts::default()).unwrap();
    assert_eq!((endpoint.provider(), endpoint.wire()), ("telegraph", wire));
    let question = Message::user("how are you?");
    let messages = [&question];
    let context = wire::render(wire, &messages);
    let options = Options {
        extra: vec![("priority".to_owned(), "\"high\"".to_owned())],
        ..Options::default()
    };
    let request = Request::new("morse-1", &messages, &context).options(&options);
    let mut streamed = String::new();
    let on_delta = |delta| {
        if let Delta::Text(text) = delta {
            streamed.push_str(&text);
        }
    };
    let answer = ask(&endpoint, request, on_delta).await.unwrap();
    assert_eq!((answer.messages[0].text().as_str(), streamed.as_str()), ("all well", "all well "));
    let received = server.received().remove(0);
    let body: Value = serde_json::from_str(&received.body).unwrap();
    let wires = json!([{"from": "us", "say": "how are you?"}]);
    assert_eq!(received.path, "/send/morse-1");
    assert_eq!(body, json!({"station": "morse-1", "priority": "high", "wires": wires}));
}

/// A gateway passes raw events through if both sides speak the same wire.
#[tokio::test]
async fn raw_events_precede_the_deltas_decoded_from_them() {
    let server = Server::start(|_| Reply::stream(&[r#""on""#, r#""STOP""#])).await.unwrap();
    let endpoint =
        Endpoint::new(telegraph(), Some(&server.url), None, Timeouts::default()).unwrap();
    let question = Message::user("?");
    let messages = [&question];
    let context = wire::render(telegraph(), &messages);
    let events = endpoint.call(Request::new("morse-1", &messages, &context));
    let shown = events.map(|event| match event.unwrap() {
        Event::Raw(raw) => raw.data,
        Event::Delta(delta) => format!("{delta:?}"),
        Event::Answer(answer) => answer.messages[0].text(),
        other => format!("{other:?}"),
    });
    assert_eq!(shown.collect::<Vec<_>>().await, [r#""on""#, r#"Text("on ")"#, r#""STOP""#, "on"]);
}
