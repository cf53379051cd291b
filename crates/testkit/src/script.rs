//! A model that says its lines one after the other.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use waterline::message::Wire;

use crate::server::{Received, Reply, Server};
use crate::spoken::Spoken;

/// What the model does next.
#[derive(Clone, Debug)]
pub enum Line {
    /// Says something, and is done.
    Says(String),
    /// Says something and is cut at its limit.
    Cut(String),
    /// Calls tools.
    Calls(Vec<(&'static str, Value)>),
    /// Never answers.
    Hangs,
}

/// Says something.
pub fn says(text: impl Into<String>) -> Line {
    Line::Says(text.into())
}

/// Calls one tool.
#[must_use]
pub fn calls(tool: &'static str, arguments: Value) -> Line {
    Line::Calls(vec![(tool, arguments)])
}

/// The models that the server says it has.
const MODELS: &str = r#"{"data":[{"id":"m"},{"id":"n"}]}"#;

/// Starts a model that says its lines over OpenAI's chat, then always "done". Who asks which models
/// there are is told `m` and `n`.
///
/// # Errors
/// When there is no free port.
pub async fn model(lines: Vec<Line>) -> io::Result<Server> {
    let play = player(lines);
    Server::start(move |received| match received.path.as_str() {
        "/v1/models" => Reply::status(200, MODELS),
        _ => play(received),
    })
    .await
}

/// A script that says lines one after the other, then always "done".
pub(crate) fn player(lines: Vec<Line>) -> impl Fn(&Received) -> Reply + Send + Sync + 'static {
    let lines = Mutex::new((VecDeque::from(lines), 0));
    move |received| {
        let mut left = lines.lock().unwrap_or_else(PoisonError::into_inner);
        let line = left.0.pop_front().unwrap_or_else(|| says("done"));
        left.1 += 1;
        reply(received, &line, left.1)
    }
}

/// One line as an answer to a request; `turn` makes the ids of its calls its own.
#[must_use]
pub fn reply(received: &Received, line: &Line, turn: usize) -> Reply {
    let prompt = received.body.len() / 4;
    let spoken = match line {
        Line::Hangs => return Reply::Hang,
        Line::Says(text) | Line::Cut(text) => Spoken::text(text.as_str(), prompt),
        Line::Calls(calls) => {
            let calls = calls.iter().enumerate();
            let calls = calls.map(|(at, (tool, arguments))| {
                (format!("call_{turn}_{at}"), (*tool).to_owned(), arguments.clone())
            });
            Spoken { calls: calls.collect(), prompt, ..Spoken::default() }
        }
    };
    let mut events = spoken.events(Wire::OPENAI_CHAT);
    if matches!(line, Line::Cut(_)) {
        events = events.iter().map(|event| event.replace("\"stop\"", "\"length\"")).collect();
    }
    Reply::Stream { events, piece: 0 }
}
