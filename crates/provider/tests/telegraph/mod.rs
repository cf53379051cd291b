//! A wire format for an invented protocol, added only through the public extension point.
#![allow(unreachable_pub, reason = "shared by the tests of several crates")]

use std::sync::{Arc, Once};

use serde_json::json;
use waterline::message::{Dialect, Message, Role, Wire};
use waterline::validity::Violation;
use waterline_provider::answer::{Answer, Decoder, Delta, Failure, Stop, Usage};
use waterline_provider::wire::json::{self as text, Fields};
use waterline_provider::wire::{
    self, Format, Json, Marks, Options, Reader, Refusal, Rendered, Tool, Vendor,
};

static TELEGRAPH: Dialect = Dialect::new("telegraph");

/// Returns the wire, and registers its format first.
pub fn telegraph() -> Wire {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert!(wire::register(&Telegraph)));
    Wire::new(&TELEGRAPH)
}

/// A body is `{"station": …, "wires": […]}`, a message `{"from": "us"|"them"|"office", "say": …}`.
pub struct Telegraph;

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

    fn vendor(&self) -> Option<Vendor> {
        let key_variable = "TELEGRAPH_API_KEY";
        Some(Vendor { key_variable, default_model: Some("morse-1"), rank: 9 })
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
        blank.map(|(at, _)| Violation::new(at, "V6", "an empty telegram".into())).collect()
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
