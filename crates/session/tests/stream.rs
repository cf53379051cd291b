//! Streamed calls and the session builder.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use test_bed::{TestBed, user};
use waterline::message::Message;
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_provider::http::{Endpoint, Timeouts};
use waterline_provider::retry::Retry;
use waterline_provider::wire::Options;
use waterline_provider::{CallError, Event as ModelEvent, EventStream, Model, RawEvent, Request};
use waterline_session::{Event, LiveSession, ModelTarget, SessionConfig, Streamed};
use waterline_testkit::script::says;
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Reply, Server};

/// A model that counts how many events of its stream were read.
struct Counting(Arc<AtomicUsize>);

impl Model for Counting {
    fn call(&self, _: Request<'_>) -> EventStream {
        let read = Arc::clone(&self.0);
        let words = stream::iter(0..100).map(move |_| {
            read.fetch_add(1, Ordering::SeqCst);
            Ok(ModelEvent::Delta(Delta::Text("word ".to_owned())))
        });
        let messages = vec![Message::assistant("word ".repeat(100))];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        Box::pin(words.chain(stream::iter([Ok(ModelEvent::Answer(answer))])))
    }
}

#[tokio::test]
async fn nothing_is_read_from_the_model_while_the_caller_does_not_poll() {
    let bed = TestBed::new();
    let read = Arc::new(AtomicUsize::new(0));
    let mut live =
        LiveSession::builder("m", Counting(Arc::clone(&read))).open(bed.log(), "s").await.unwrap();
    let mut events = live.stream(user("begin"));
    // The request, the start of the response, and three deltas.
    for _ in 0..5 {
        events.next().await.unwrap().unwrap();
    }
    assert!(
        read.load(Ordering::SeqCst) <= 4,
        "{} deltas were read instead of three",
        read.load(Ordering::SeqCst)
    );
    drop(events);
    live.reload_if_interrupted().await.unwrap();
    assert_eq!(bed.texts(), ["begin"], "a dropped stream leaves a valid log");
    assert_eq!(read.load(Ordering::SeqCst), 3, "nothing more is read");
}

#[tokio::test]
async fn stream_ends_with_the_stored_answer() {
    let bed = TestBed::new();
    let model = Scripted::lines(vec![says("all is well")]);
    let options =
        Options { extra: vec![("seed".to_owned(), "7".to_owned())], ..Options::default() };
    let builder =
        LiveSession::builder("m", model.clone()).system("be brief").window(10_000).options(options);
    let mut live = builder.open(bed.log(), "fresh").await.unwrap();
    live.emit_raw_events(true);
    let streamed: Vec<Streamed> = live.stream(user("well?")).map(Result::unwrap).collect().await;
    let is_raw = |step: &Streamed| match step {
        Streamed::Event(Event::Raw(RawEvent { data, .. })) => data.contains("all is well"),
        _ => false,
    };
    assert!(streamed.iter().any(is_raw), "a gateway needs the raw events: {streamed:?}");
    let Some(Streamed::Answer(answer)) = streamed.last() else {
        unreachable!("an answer comes last")
    };
    assert_eq!(answer.text(), "all is well");
    assert!(model.received()[0].body.contains(r#""seed":7"#), "extra fields are sent unchanged");
    // Opened again, the session resumes; the system prompt is sent once.
    let mut again = LiveSession::builder("m", model.clone())
        .system("be brief")
        .open(bed.log(), "fresh")
        .await
        .unwrap();
    assert_eq!(again.ask("and now?").await.unwrap().text(), "done");
    assert_eq!(model.received()[1].body.matches("be brief").count(), 1);
}

#[tokio::test]
async fn builder_takes_a_policy_by_name_or_by_value() {
    let bed = TestBed::new();
    let builder = || LiveSession::builder("m", Scripted::lines(vec![]));
    let named = builder().policy("window").open(bed.log(), "a").await.unwrap();
    assert_eq!(named.policy().name, "window");
    let keys = [("window.messages".to_owned(), "60".to_owned())];
    let own = waterline::policy::Policy::preset_with("window", &keys).unwrap();
    let own = builder().policy(own).open(bed.log(), "b").await.unwrap();
    assert_eq!(own.policy().setting("window.messages").and_then(|set| set.as_integer()), Some(60));
    assert!(builder().policy("nothing").open(bed.log(), "c").await.is_err());
}

/// A model that fails after half an answer: its stream ends, or it reports an error without the
/// text so far.
struct Broken(Arc<AtomicUsize>);

impl Model for Broken {
    fn call(&self, _: Request<'_>) -> EventStream {
        let text = |text: &str| Ok(ModelEvent::Delta(Delta::Text(text.to_owned())));
        let messages = vec![Message::assistant("whole")];
        let answer = Answer { messages, stop: Stop::End, ..Answer::default() };
        Box::pin(stream::iter(match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => vec![text("first "), text("half")],
            1 => vec![text("second half"), Err(CallError::failed("overloaded"))],
            _ => vec![text("whole"), Ok(ModelEvent::Answer(answer))],
        }))
    }
}

/// Without delays between attempts.
fn at_once(model: ModelTarget) -> SessionConfig {
    let none = vec![std::time::Duration::ZERO; 3];
    let retry = Retry { rate_limit: none.clone(), transient: none, ..Retry::default() };
    SessionConfig { retry, ..SessionConfig::new(model, test_bed::policy("auto", &[])) }
}

#[tokio::test]
async fn the_text_of_a_broken_answer_is_kept_on_a_side_branch() {
    let bed = TestBed::new();
    let model = ModelTarget::new("m", Broken(Arc::default()));
    let mut live = bed.open(at_once(model)).await;
    live.call(user("begin"), test_bed::silent).await.unwrap();
    assert_eq!(bed.texts(), ["begin", "whole"]);
    let log = bed.log();
    let found = |text: &str| log.search(text, None, 10).unwrap().len();
    assert_eq!((found("first"), found("second")), (1, 1));
}

/// A proxy answers with a page and status 200: the call is retried, and then the next model is
/// called.
#[tokio::test]
async fn a_page_instead_of_an_answer_fails_over() {
    let bed = TestBed::new();
    let page = Server::start(|_| Reply::status(200, "<html>Sign in</html>")).await.unwrap();
    let wire = waterline::message::Wire::OPENAI_CHAT;
    let endpoint = Endpoint::new(wire, Some(&page.url), None, Timeouts::default()).unwrap();
    let fallback = Scripted::lines(vec![says("from the second")]);
    let config = SessionConfig {
        fallback: vec![ModelTarget::new("n", fallback)],
        ..at_once(ModelTarget::new("m", endpoint))
    };
    let mut live = bed.open(config).await;
    let answer = live.call(user("begin"), test_bed::silent).await.unwrap();
    assert_eq!((answer.text().as_str(), page.received().len()), ("from the second", 4));
}
