//! A custom wire format for an invented protocol, added only through the public extension point.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::{Arc, Once};

use futures_util::StreamExt;
use serde_json::{Value, json};
use waterline::json::{self as text, Fields};
use waterline::message::{Dialect, Message, Role, Wire};
use waterline::validity::Violation;
use waterline_provider::answer::{Answer, Decoder, Delta, Failure, Stop, Usage};
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::wire::{
    self, Format, Json, Marks, Options, Reader, Refusal, Rendered, Tool,
};
use waterline_provider::{Event, Model, Request, ask};
use waterline_testkit::server::{Reply, Server};

static TELEGRAPH: Dialect = Dialect::new("telegraph");

fn telegraph() -> Wire {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert!(wire::register(&Telegraph)));
    Wire::new(&TELEGRAPH)
}

/// A body is `{"station": …, "wires": […]}`, a message `{"from": "us"|"them"|"office", "say": …}`.
struct Telegraph;

impl Format for Telegraph {
    fn wire(&self) -> Wire {
        Wire::new(&TELEGRAPH)
    }

    fn marks(&self) -> Marks {
        Marks { body: &["wires"], message: &["from"], ..Marks::default() }
    }

    fn list_field(&self) -> &'static str {
        "wires"
    }

    fn message(&self, json: &str, reader: &mut Reader) -> Result<Message, Refusal> {
        let mut fields =
            Fields::parse(json).ok_or_else(|| Refusal::new("expected a message object"))?;
        let role = match reader.take(&mut fields, "from").as_deref() {
            Some("us") => Role::User,
            Some("them") => Role::Assistant,
            Some("office") => Role::System,
            _ => return Err(Refusal::new("unknown sender")),
        };
        let parts = reader.content(fields.take("say"), |_, _| None);
        Ok(reader.message(role, parts, fields))
    }

    fn tools(&self, _: &Fields<'_>) -> Vec<Tool> {
        Vec::new()
    }

    fn write_tools(&self, tools: &[Tool]) -> String {
        text::array(tools.iter().map(|tool| text::quote(&tool.name)))
    }

    fn default_base(&self) -> &'static str {
        "http://telegraph.invalid"
    }

    fn provider(&self) -> &'static str {
        "telegraph"
    }

    fn model_prefixes(&self) -> &'static [&'static str] {
        &["morse"]
    }

    fn path(&self, model: &str) -> String {
        format!("/send/{model}")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-stamp", key.to_owned())).into_iter().collect()
    }

    fn settings(&self, model: &str, options: &Options) -> Vec<(&'static str, String)> {
        let limit = options.max_tokens.map(|limit| ("most", limit.to_string()));
        [("station", text::quote(model))].into_iter().chain(limit).collect()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Clicks>::default()
    }

    fn render(&self, messages: &[&Message]) -> Rendered {
        let written = messages.iter().map(|message| match &message.raw {
            Some(raw) if raw.wire() == self.wire() => Json::Raw(raw.clone()),
            _ => {
                let from = match message.role {
                    Role::Assistant => "them",
                    Role::System => "office",
                    Role::User | Role::Tool => "us",
                };
                Json::made(text::object([
                    ("from", text::quote(from)),
                    ("say", text::quote(&message.text())),
                ]))
            }
        });
        Rendered { system: None, messages: written.collect() }
    }

    fn check(&self, messages: &[&str]) -> Vec<Violation> {
        let is_blank = |json: &&str| {
            Fields::parse(json).is_none_or(|fields| fields.get("say") == Some("\"\""))
        };
        let blank = messages.iter().enumerate().filter(|(_, json)| is_blank(json));
        blank
            .map(|(at, _)| Violation { at, rule: "V6", text: "an empty telegram".into() })
            .collect()
    }
}

/// Each event is one word as a JSON string; `"STOP"` ends the answer.
#[derive(Default)]
struct Clicks {
    words: Vec<String>,
    has_ended: bool,
}

impl Decoder for Clicks {
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure> {
        let word: String = serde_json::from_str(data).map_err(|_| Failure(data.to_owned()))?;
        self.has_ended |= word == "STOP";
        if !self.has_ended {
            emit(Delta::Text(format!("{word} ")));
            self.words.push(word);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Answer {
        let json = json!({"from": "them", "say": self.words.join(" ")}).to_string();
        let message = wire::parse_stored(Arc::new(json), Wire::new(&TELEGRAPH), Role::Assistant);
        let stop = if self.has_ended { Stop::End } else { Stop::Interrupted };
        Answer {
            messages: message.into_iter().collect(),
            stop,
            usage: Usage::default(),
            model: None,
        }
    }
}

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
    assert_eq!(parsed.body_with(wire, &rendered), BODY);
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
