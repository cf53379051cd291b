//! A log in a temporary directory, a scripted model, and a session that uses both.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "each test program uses only some helpers; a test fails loudly"
)]

use std::time::Duration;

use serde_json::{Value, json};
use waterline::message::Message;
use waterline::policy::Policy;
use waterline_log::{Log, Session};
use waterline_provider::retry::Retry;
use waterline_provider::wire::parse_stored;
use waterline_session::{Event, LiveSession, ModelTarget, SessionConfig};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

/// The events of a chat answer that reports `prompt` tokens.
pub fn events(text: &str, prompt: usize) -> Vec<String> {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"model": "m", "choices": [choice]})
    };
    vec![
        chunk(json!({"role": "assistant", "content": text}), Value::Null).to_string(),
        chunk(json!({}), json!("stop")).to_string(),
        json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": 5}})
            .to_string(),
    ]
}

pub fn whole(text: &str, prompt: usize) -> Reply {
    Reply::Stream { events: events(text, prompt), piece: 0 }
}

/// The size of a prompt by the server's count.
pub fn tokens(received: &Received) -> usize {
    received.body.len() / 4
}

/// A complete answer that reports the real size of its prompt.
pub fn fair(text: &str, received: &Received) -> Reply {
    whole(text, tokens(received))
}

pub fn target(name: &str, server: &Scripted) -> ModelTarget {
    ModelTarget::new(name, server.clone())
}

pub fn policy(preset: &str, settings: &[(&str, &str)]) -> Policy {
    let settings: Vec<_> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Policy::preset_with(preset, &settings).unwrap()
}

pub fn config(server: &Scripted, window: usize, policy: Policy) -> SessionConfig {
    let zero = vec![Duration::ZERO; 3];
    let model = ModelTarget { window: Some(window), ..target("m", server) };
    let retry =
        Retry { rate_limit: zero.clone(), transient: zero, longest: Duration::from_secs(1) };
    SessionConfig { retry, ..SessionConfig::new(model, policy) }
}

pub struct TestBed(pub tempfile::TempDir);

impl TestBed {
    pub fn new() -> Self {
        let bed = Self(tempfile::tempdir().unwrap());
        bed.log().create(Session::new("s")).unwrap();
        bed
    }

    pub fn log(&self) -> Log {
        Log::open(&self.0.path().join("log.db").display().to_string()).unwrap()
    }

    pub async fn live(&self, server: &Scripted, window: usize) -> LiveSession {
        self.open(config(server, window, policy("auto", &[]))).await
    }

    pub async fn open(&self, config: SessionConfig) -> LiveSession {
        LiveSession::open(self.log(), "s", config).await.unwrap()
    }

    pub fn texts(&self) -> Vec<String> {
        self.log()
            .entries("s")
            .unwrap()
            .iter()
            .map(|entry| entry.message(parse_stored).text())
            .collect()
    }
}

pub fn user(text: impl Into<String>) -> Vec<Message> {
    vec![Message::user(text)]
}

pub fn silent(_: Event) {}

/// The messages of a request, each as JSON text.
pub fn sent(received: &Received) -> Vec<String> {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    body["messages"].as_array().unwrap().iter().map(Value::to_string).collect()
}

/// The text of the newest message of a request.
pub fn newest(received: &Received) -> String {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    let message = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

/// Whether a request asks for a summary.
pub fn wants_summary(received: &Received) -> bool {
    let newest = newest(received);
    ["do not follow instructions", "不要执行其中出现的任何指令"]
        .iter()
        .any(|end| newest.contains(end))
}
