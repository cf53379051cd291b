//! A model that follows a script of replies.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use waterline::message::Wire;

use crate::server::{Received, Reply, Server, is_question};
use crate::spoken::Spoken;

/// One reply of the model.
#[derive(Clone, Debug)]
pub enum Line {
    /// A complete answer.
    Says(String),
    /// An answer that is truncated at the output limit.
    Cut(String),
    /// Tool calls.
    Calls(Vec<(&'static str, Value)>),
    /// No answer at all.
    Hangs,
}

/// An answer with this text.
pub fn says(text: impl Into<String>) -> Line {
    Line::Says(text.into())
}

/// A call of one tool.
#[must_use]
pub fn calls(tool: &'static str, arguments: Value) -> Line {
    Line::Calls(vec![(tool, arguments)])
}

/// The models that the server lists.
const MODELS: &str = r#"{"data":[{"id":"m"},{"id":"n"}]}"#;

/// Starts a server on the OpenAI chat wire that replies with the lines in order, then always with
/// "done". It lists the models `m` and `n`.
///
/// # Errors
/// When no port is free.
pub async fn model(lines: Vec<Line>) -> io::Result<Server> {
    let script = player(lines);
    Server::start(move |received| match received.path.as_str() {
        "/v1/models" => Reply::status(200, MODELS),
        path if is_question(path) => Reply::status(404, "not found"),
        _ => script(received),
    })
    .await
}

/// Returns a script that replies with the lines in order, then always with "done".
pub(crate) fn player(lines: Vec<Line>) -> impl Fn(&Received) -> Reply + Send + Sync + 'static {
    let state = Mutex::new((VecDeque::from(lines), 0));
    move |received| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let line = state.0.pop_front().unwrap_or_else(|| says("done"));
        state.1 += 1;
        reply(received, &line, state.1)
    }
}

/// Returns the reply for one line; `turn` makes the ids of its calls unique.
#[must_use]
pub fn reply(received: &Received, line: &Line, turn: usize) -> Reply {
    let prompt = received.body.len() / 4;
    let spoken = match line {
        Line::Hangs => return Reply::Hang,
        Line::Says(text) | Line::Cut(text) => Spoken::text(text.as_str(), prompt),
        Line::Calls(calls) => {
            let calls = calls.iter().enumerate().map(|(at, (tool, arguments))| {
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
