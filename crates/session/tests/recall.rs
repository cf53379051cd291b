//! The `recall` stage in a session: earlier messages are quoted with a new user message.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::{Arc, Mutex};

use test_bed::{TestBed, config, fair, newest, sent, silent, user};
use waterline::message::{Message, Part};
use waterline::policy::Policy;
use waterline_session::{LiveSession, Recall};
use waterline_testkit::scripted::Scripted;

const QUESTION: &str = "Which port does the staging database use?";
const FACT: &str = "The staging database is on port 5433.";

/// Returns a policy that keeps ten messages and quotes one passage.
fn policy(timeout: u64) -> Policy {
    let text = format!(
        "stages = [\"window\", \"recall\"]\n[fold]\nmessages = 30\n[window]\nmessages = 10\n\
         [recall]\ntop = 1\nmax = 500\ntimeout = {timeout}"
    );
    Policy::read(&text, &[]).unwrap()
}

fn server() -> Scripted {
    Scripted::new(|received| fair("Noted, let us go on with the garden.", received))
}

async fn open(bed: &TestBed, server: &Scripted, timeout: u64) -> LiveSession {
    bed.open(config(server, 50_000, policy(timeout))).await
}

/// Says the fact, then enough for it to leave the context.
async fn talk(live: &mut LiveSession) {
    live.call(user(FACT), silent).await.unwrap();
    for day in 0..16 {
        live.call(user(format!("On day {day} we water the roses.")), silent).await.unwrap();
    }
}

#[tokio::test]
async fn folded_fact_is_quoted_and_the_prefix_stays() {
    let bed = TestBed::new();
    let server = server();
    let mut live = open(&bed, &server, 60_000).await;
    talk(&mut live).await;
    let before = sent(server.received().last().unwrap());
    assert!(!before.concat().contains("5433"), "{before:?}");
    live.call(user(QUESTION), silent).await.unwrap();
    let asked = sent(server.received().last().unwrap());
    assert_eq!(asked[..before.len()], before, "the cached prefix does not change");
    let last = newest(server.received().last().unwrap());
    assert!(
        last.starts_with(QUESTION) && last.contains("> message 1, user: The staging"),
        "{last}"
    );
    // The same bytes are sent with every later call, also by another process.
    drop(live);
    let mut live = open(&bed, &server, 60_000).await;
    live.call(user("Thanks."), silent).await.unwrap();
    let later = sent(server.received().last().unwrap());
    assert_eq!(later[..asked.len()], asked);
    assert!(!bed.texts().concat().contains("> message 1"), "stored messages are unchanged");
}

static GATE: Mutex<()> = Mutex::new(());

/// Blocks the search while the test holds the gate.
fn gated(text: &str) -> &str {
    drop(GATE.lock());
    text
}

/// Nothing waits for a search that takes too long.
#[tokio::test]
#[allow(clippy::await_holding_lock, reason = "the search runs on another thread")]
async fn late_search_quotes_nothing() {
    let bed = TestBed::new();
    let server = server();
    let mut live = open(&bed, &server, 1).await;
    live.search_with(Arc::new(Recall::new(gated)));
    let closed = GATE.lock().unwrap();
    talk(&mut live).await;
    live.call(user(QUESTION), silent).await.unwrap();
    assert_eq!(newest(server.received().last().unwrap()), QUESTION);
    drop(closed);
}

#[tokio::test]
async fn resumed_session_quotes_without_loading_its_history() {
    let bed = TestBed::new();
    let server = server();
    let mut live = open(&bed, &server, 60_000).await;
    talk(&mut live).await;
    drop(live);
    let mut live = open(&bed, &server, 60_000).await;
    live.call(user(QUESTION), silent).await.unwrap();
    assert!(newest(server.received().last().unwrap()).contains("5433"));
    assert!(!live.history().is_whole(), "only the end of the history was needed");
}

/// What the user cleared does not come back.
#[tokio::test]
async fn cleared_messages_are_not_quoted() {
    let bed = TestBed::new();
    let server = server();
    let mut live = open(&bed, &server, 60_000).await;
    talk(&mut live).await;
    drop(live);
    bed.log().clear("s").unwrap();
    let mut live = open(&bed, &server, 60_000).await;
    live.call(user(QUESTION), silent).await.unwrap();
    assert_eq!(newest(server.received().last().unwrap()), QUESTION);
}

/// The whole of a truncated text is in the log, and passages of it are found there.
#[tokio::test]
async fn passage_of_an_artifact_is_quoted() {
    let bed = TestBed::new();
    let server = server();
    let mut live = open(&bed, &server, 60_000).await;
    let output = format!("{}module_33 failed\n{}", "ok\n".repeat(900), "ok\n".repeat(900));
    let log = bed.log();
    let artifact = log.put_artifact("s", "text/plain", "ok", output.clone().into_bytes()).unwrap();
    let id: String = artifact.hash.chars().take(16).collect();
    let truncation = waterline::truncate::Truncation::new(40, 20).artifact(id);
    let short = waterline::truncate::truncate(&output, &truncation).unwrap();
    let mut part = Part::text(short.text);
    part.truncated = Some(Box::new(short.truncated));
    let mut message = Message::user("The output of the build:");
    message.parts.push(part);
    live.call(vec![message], silent).await.unwrap();
    live.call(user("Which module failed, was it module_33?"), silent).await.unwrap();
    let last = newest(server.received().last().unwrap());
    assert!(last.contains("> module_33 failed"), "{last}");
}
