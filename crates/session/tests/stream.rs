//! A call as a stream, and the short way to a session.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use test_bed::{TestBed, user};
use waterline::message::Message;
use waterline_provider::answer::{Answer, Delta, Stop};
use waterline_provider::wire::Options;
use waterline_provider::{Event as ModelEvent, EventStream, Model, RawEvent, Request};
use waterline_session::{Event, LiveSession, Streamed};
use waterline_testkit::script::says;
use waterline_testkit::scripted::Scripted;

/// A model that counts how far its stream was read.
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
async fn a_caller_that_does_not_poll_holds_the_model_back() {
    let bed = TestBed::new();
    let read = Arc::new(AtomicUsize::new(0));
    let mut live =
        LiveSession::builder("m", Counting(Arc::clone(&read))).open(bed.log(), "s").await.unwrap();
    let mut events = live.stream(user("begin"));
    for _ in 0..3 {
        events.next().await.unwrap().unwrap();
    }
    assert!(
        read.load(Ordering::SeqCst) <= 4,
        "{} deltas were read for three",
        read.load(Ordering::SeqCst)
    );
    drop(events);
    live.resync().await.unwrap();
    assert_eq!(bed.texts(), ["begin"], "a dropped stream leaves a valid log");
    assert_eq!(read.load(Ordering::SeqCst), 3, "and nothing more is read");
}

#[tokio::test]
async fn a_stream_ends_with_the_stored_answer() {
    let bed = TestBed::new();
    let model = Scripted::lines(vec![says("all is well")]);
    let options =
        Options { extra: vec![("seed".to_owned(), "7".to_owned())], ..Options::default() };
    let builder =
        LiveSession::builder("m", model.clone()).system("be brief").window(10_000).options(options);
    let mut live = builder.open(bed.log(), "fresh").await.unwrap();
    live.emit_raw_events(true);
    let streamed: Vec<Streamed> = live.stream(user("well?")).map(Result::unwrap).collect().await;
    let is_raw = |step: &Streamed| matches!(step, Streamed::Event(Event::Raw(RawEvent { data, .. })) if data.contains("all is well"));
    assert!(
        streamed.iter().any(is_raw),
        "the provider's own events are there for a gateway: {streamed:?}"
    );
    let Some(Streamed::Answer(answer)) = streamed.last() else {
        unreachable!("an answer comes last")
    };
    assert_eq!(answer.text(), "all is well");
    assert!(model.received()[0].body.contains(r#""seed":7"#), "extra fields go out as they are");
    // Opened again, it goes on where it was; the system prompt is said once.
    let mut again = LiveSession::builder("m", model.clone())
        .system("be brief")
        .open(bed.log(), "fresh")
        .await
        .unwrap();
    assert_eq!(again.ask("and now?").await.unwrap().text(), "done");
    assert_eq!(model.received()[1].body.matches("be brief").count(), 1);
}
