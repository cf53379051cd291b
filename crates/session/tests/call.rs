//! One call after the other, against a model server with faults, on a real log.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use waterline::message::{Message, Role, Wire};
use waterline::policy::Policy;
use waterline_log::{Log, Session};
use waterline_provider::http::retry::Retry;
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::wire::Options;
use waterline_session::{Live, SessionError, Setup};
use waterline_testkit::server::{Received, Reply, Server, bytes};

/// An answer of chat, with the tokens that the prompt took.
fn answer(text: &str, prompt: usize) -> Vec<String> {
    let chunk = |delta: Value, reason: Value| json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    vec![
        chunk(json!({"role": "assistant", "content": text}), Value::Null).to_string(),
        chunk(json!({}), json!("stop")).to_string(),
        json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": 5}}).to_string(),
    ]
}

fn whole(text: &str, prompt: usize) -> Reply {
    Reply::Stream { events: answer(text, prompt), piece: 0 }
}

fn setup(server: &Server, window: usize) -> Setup {
    let endpoint = Endpoint::new(Wire::OpenaiChat, Some(&server.url), None, Timeouts::default()).unwrap();
    let zero = vec![Duration::ZERO; 3];
    Setup {
        model: "m".into(),
        endpoint,
        policy: Policy::preset("auto").unwrap(),
        tools: Vec::new(),
        options: Options::default(),
        window: Some(window),
        retry: Retry { rate_limit: zero.clone(), transient: zero, longest: Duration::from_secs(1) },
    }
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.log().create(Session::new("s")).unwrap();
        place
    }

    fn log(&self) -> Log {
        Log::open(&self.0.path().join("log.db").display().to_string()).unwrap()
    }

    async fn live(&self, server: &Server, window: usize) -> Live {
        Live::open(self.log(), "s", setup(server, window)).await.unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.log().entries("s").unwrap().iter().map(|entry| entry.message(parse).text()).collect()
    }
}

fn parse(text: std::sync::Arc<String>, wire: Wire, role: Role) -> Option<Message> {
    waterline_provider::wire::kept(&text, wire, role)
}

fn user(text: impl Into<String>) -> Vec<Message> {
    vec![Message::text_of(Role::User, text)]
}

/// The messages of a request, each as JSON text.
fn sent(received: &Received) -> Vec<String> {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    body["messages"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[tokio::test]
async fn a_call_is_stored_before_and_after() {
    let server = Server::start(|_| whole("fine", 12)).await.unwrap();
    let place = Place::new();
    let mut live = place.live(&server, 10_000).await;
    let mut heard = Vec::new();
    let answer = live.call(user("how are you?"), |delta| heard.push(delta)).await.unwrap();
    assert_eq!((answer.messages[0].text().as_str(), heard.len()), ("fine", 1));
    assert_eq!(place.texts(), ["how are you?", "fine"]);
    let usage = place.log().usage("s").unwrap();
    assert_eq!((usage[0].position, usage[0].input, usage[0].output), (2, 12, 5));
    assert_eq!(place.log().thaw("s").unwrap().unwrap().head.covered, 1);
}

/// Between folds every request is a prefix of the next, also across a restart.
#[tokio::test]
async fn contexts_only_grow_and_a_restart_changes_nothing() {
    let server = Server::start(|_| whole("yes", 50)).await.unwrap();
    let place = Place::new();
    for round in 0..6 {
        // A new process each time.
        let mut live = place.live(&server, 100_000).await;
        live.call(user(format!("question {round}")), |_| ()).await.unwrap();
    }
    let requests: Vec<Vec<String>> = server.received().iter().map(sent).collect();
    assert_eq!(requests.last().unwrap().len(), 11);
    for pair in requests.windows(2) {
        assert_eq!(pair[1][..pair[0].len()], pair[0][..]);
    }
}

/// A server with a small window: refused until the prompt fits, and the window is known from then on.
#[tokio::test]
async fn an_overflow_teaches_the_window_and_the_call_comes_through() {
    let tokens = |received: &Received| received.body.len() / 4;
    let server = Server::start(move |received| {
        let prompt = tokens(received);
        if prompt > 2_000 {
            let message = format!(
                "request ({prompt} tokens) exceeds the available context size (2000 tokens), try increasing it"
            );
            return Reply::status(400, json!({"error": {"message": message}}).to_string());
        }
        whole("done", prompt)
    })
    .await
    .unwrap();
    let place = Place::new();
    let mut live = place.live(&server, 100_000).await;
    for round in 0..30 {
        live.call(user(format!("step {round}: look at src/file_{round}.rs {}", "and more ".repeat(60))), |_| ())
            .await
            .unwrap();
    }
    assert!(live.window() <= 2_000, "{}", live.window());
    assert!(live.violations().is_empty(), "{:?}", live.violations());
    assert_eq!(place.texts().len(), 60, "stored history is untouched");
    assert!(!place.log().generations("s").unwrap().is_empty());
    let refused = server.received().iter().filter(|received| tokens(received) > 2_000).count();
    assert!(refused <= 3, "{refused} requests were too long");
    let last = server.received().pop().unwrap();
    assert!(last.body.contains("step 29"), "the newest message survives");
}

#[tokio::test]
async fn an_overflow_that_stays_is_the_providers_own_error() {
    let server = Server::start(|_| Reply::status(400, "prompt is too long: 9 tokens > 8 maximum")).await.unwrap();
    let place = Place::new();
    let error = place.live(&server, 10_000).await.call(user("hi"), |_| ()).await.unwrap_err();
    assert!(matches!(&error, SessionError::Call(inner) if inner.overflow().is_some()), "{error}");
    assert_eq!(server.received().len(), 3, "two tries more");
    assert_eq!(place.texts(), ["hi"], "what was said is stored");
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::status(529, "overloaded"),
        1 => Reply::status(429, "slow down"),
        _ => whole("at last", 9),
    })
    .await
    .unwrap();
    let place = Place::new();
    place.live(&server, 10_000).await.call(user("hi"), |_| ()).await.unwrap();
    assert_eq!(place.texts(), ["hi", "at last"]);
    let requests: Vec<Vec<String>> = server.received().iter().map(sent).collect();
    assert!(requests.iter().all(|request| *request == requests[0]), "the same bytes each time");
}

#[tokio::test]
async fn what_does_not_pass_is_told_at_once() {
    let server = Server::start(|_| Reply::status(401, r#"{"error":{"message":"no such key"}}"#)).await.unwrap();
    let place = Place::new();
    let error = place.live(&server, 10_000).await.call(user("hi"), |_| ()).await.unwrap_err();
    assert_eq!((error.to_string().as_str(), server.received().len()), ("status 401: no such key", 1));
}

/// A stream that dies midway: what came is kept beside the session's way, and the call is made again.
#[tokio::test]
async fn a_broken_answer_is_kept_and_asked_for_again() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => {
            let events = answer("half an ans", 9);
            let at = bytes(&events[..1]).len() + 3;
            Reply::Cut { events, at }
        }
        _ => whole("whole answer", 9),
    })
    .await
    .unwrap();
    let place = Place::new();
    let mut live = place.live(&server, 10_000).await;
    live.call(user("hi"), |_| ()).await.unwrap();
    live.call(user("more"), |_| ()).await.unwrap();
    assert_eq!(place.texts(), ["hi", "whole answer", "more", "whole answer"]);
    let log = place.log();
    assert_eq!(log.search("half", None, 3).unwrap().len(), 1);
    assert_eq!(log.branches("s").unwrap().len(), 2);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, Vec::<String>::new());
    assert!(server.received().iter().all(|received| !received.body.contains("half an ans")));
}

#[tokio::test]
async fn nothing_to_send_is_no_call() {
    let server = Server::start(|_| whole("?", 1)).await.unwrap();
    let place = Place::new();
    let error = place.live(&server, 10_000).await.call(Vec::new(), |_| ()).await.unwrap_err();
    assert!(matches!(error, SessionError::Empty) && server.received().is_empty());
}
