//! Sessions of tens of thousands of messages.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::time::Duration;

use test_bed::{TestBed, config, fair};
use waterline::message::Message;
use waterline::model::Models;
use waterline::policy::Policy;
use waterline_log::Incoming;
use waterline_session::{LiveSession, Sessions};
use waterline_testkit::scripted::Scripted;

/// A fold of a very long session reads its newest messages only; the others stay in the log.
#[tokio::test]
async fn a_fold_of_a_very_long_session_reads_its_newest_messages() {
    const MESSAGES: usize = 31_000;
    let bed = TestBed::new();
    let mut tip = bed.log().session("s").unwrap().tip;
    let counter = Models::builtin().unknown().counter();
    let numbers: Vec<usize> = (0..MESSAGES).collect();
    for numbers in numbers.chunks(1_000) {
        let message = |number: &usize| match number % 2 {
            0 => Message::user(format!("question {number} about src/file_{number}.rs")),
            _ => Message::assistant(format!("answer {number}")),
        };
        let incoming = |number| Incoming::of(&message(number), &counter);
        tip = bed.log().append("s", tip, numbers.iter().map(incoming).collect()).unwrap().tip;
    }
    let server = Scripted::new(|received| fair("done", received));
    let config = config(&server, 6_000, Policy::preset("auto").unwrap());
    let mut live = LiveSession::open(bed.log(), "s", config).await.unwrap();
    live.call(vec![Message::user("and now?")], |_| ()).await.unwrap();
    let history = live.history();
    assert!(history.has_unread());
    assert_eq!(history.len(), MESSAGES + 2);
    let context: Vec<String> = live.generation().context(history).map(Message::text).collect();
    let context = context.concat();
    assert!(context.contains("question 0 ") && context.contains("question 30998 "), "{context}");
    // Resumed, with a request context: again only the newest messages are read for a fold.
    drop(live);
    let config = crate::config(&server, 3_000, Policy::preset("auto").unwrap());
    let mut live = LiveSession::open(bed.log(), "s", config).await.unwrap();
    assert!(!live.history().is_whole());
    live.call(vec![Message::user("and then?")], |_| ()).await.unwrap();
    assert!(live.history().is_whole() && live.history().has_unread());
    let texts: Vec<String> = live.generation().context(live.history()).map(Message::text).collect();
    assert!(texts.concat().contains("question 0 ") && texts.concat().contains("and now?"));
    let whole = live.whole().await.unwrap();
    assert!(!whole.has_unread());
    assert_eq!(
        whole.source(5_000).map(Message::text).as_deref(),
        Some("question 5000 about src/file_5000.rs")
    );
}

/// A value that the ledger lists is listed again by the first fold after resuming, although its
/// messages are no longer read.
#[tokio::test]
async fn a_fold_after_resuming_lists_a_value_of_unread_messages_again() {
    const OLD_VALUE: &str = "deploy/zeta_key.pem";
    let bed = TestBed::new();
    let text = |number: usize| match number {
        0 => "the task".to_owned(),
        10..16 => format!("{number} is about {OLD_VALUE}"),
        _ => format!("message {number} without a name"),
    };
    append(&bed, (0..10_000).map(text).collect());
    let server = Scripted::new(|received| fair("done", received));
    let auto = || Policy::preset("auto").unwrap();
    let mut live = LiveSession::open(bed.log(), "s", config(&server, 6_000, auto())).await.unwrap();
    live.call(vec![Message::user("and now?")], |_| ()).await.unwrap();
    assert!(!live.history().has_unread() && sent(&live).contains(OLD_VALUE));
    drop(live);
    append(&bed, (10_000..31_000).map(text).collect());
    let mut live = LiveSession::open(bed.log(), "s", config(&server, 6_000, auto())).await.unwrap();
    live.call(vec![Message::user("and then?")], |_| ()).await.unwrap();
    assert!(live.history().has_unread());
    assert!(sent(&live).contains(OLD_VALUE));
}

/// A preview of a fold for a much larger window reads what the fold would read.
#[tokio::test]
async fn a_preview_for_a_larger_window_reads_everything() {
    let bed = TestBed::new();
    append(&bed, (0..31_000).map(|number| format!("message {number}")).collect());
    let server = Scripted::new(|received| fair("done", received));
    let config = |window| config(&server, window, Policy::preset("auto").unwrap());
    let sessions = Sessions::new(bed.log(), 1, Duration::from_secs(600));
    let mut live = sessions.enter("s", config(6_000)).await.unwrap();
    live.call(vec![Message::user("and now?")], |_| ()).await.unwrap();
    assert!(live.history().is_whole() && live.history().has_unread());
    drop(live);
    let mut live = sessions.enter("s", config(100_000)).await.unwrap();
    live.preview_fold("test", None).await.unwrap();
    assert!(!live.history().has_unread());
}

/// Appends messages of user and assistant by turns.
fn append(bed: &TestBed, texts: Vec<String>) {
    let counter = Models::builtin().unknown().counter();
    for texts in texts.chunks(1_000) {
        let messages = texts.iter().enumerate().map(|(at, text)| match at % 2 {
            0 => Message::user(text),
            _ => Message::assistant(text),
        });
        let incoming = messages.map(|message| Incoming::of(&message, &counter)).collect();
        let tip = bed.log().session("s").unwrap().tip;
        bed.log().append("s", tip, incoming).unwrap();
    }
}

fn sent(live: &LiveSession) -> String {
    live.generation().context(live.history()).map(Message::text).collect()
}
