//! Streamed calls and the session builder.
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
    for _ in 0..3 {
        events.next().await.unwrap().unwrap();
    }
    assert!(
        read.load(Ordering::SeqCst) <= 4,
        "{} deltas were read instead of three",
        read.load(Ordering::SeqCst)
    );
    drop(events);
    live.resync().await.unwrap();
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
    let is_raw = |step: &Streamed| matches!(step, Streamed::Event(Event::Raw(RawEvent { data, .. })) if data.contains("all is well"));
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
