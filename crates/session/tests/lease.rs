//! A session whose lease another process has taken: nothing that it does reaches the log.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use test_bed::{TestBed, config, events, fair, policy, silent, user, wants_summary};
use waterline_log::{Log, LogError};
use waterline_session::{Event, HeldLease, LiveSession, SessionError};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::{Received, Reply};

/// Lets a session work under its lease, which is the first one.
async fn first_holder(bed: &TestBed, live: &mut LiveSession) -> HeldLease {
    let held = HeldLease::take(bed.log().handle(), "s", "first", |_| None::<()>).await.unwrap();
    live.work_under(held.fence());
    held
}

/// Takes the lease as another process does that knows the first holder to be suspended.
fn take_over(log: &Log) {
    log.take_over("s", 1, "second", Duration::from_secs(30)).unwrap();
}

fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, SessionError>) {
    let refused = matches!(outcome, Err(SessionError::Log(LogError::LeaseLost { .. })));
    assert!(refused, "{outcome:?}");
}

#[tokio::test]
async fn no_artifact_is_stored() {
    let server = Scripted::new(|received: &Received| fair("noted", received));
    let bed = TestBed::new();
    let mut live = bed.live(&server, 2_000).await;
    let _held = first_holder(&bed, &mut live).await;
    take_over(&bed.log());
    assert_refused(live.call(user("long ".repeat(6_000)), silent).await);
    assert_eq!(bed.log().artifacts("s").unwrap(), []);
    assert!(bed.texts().is_empty() && server.received().is_empty());
}

#[tokio::test]
async fn no_side_branch_is_stored() {
    let server = Scripted::new(|_: &Received| Reply::Stall {
        events: events("first the wheel", 9),
        after: 1,
    });
    let bed = TestBed::new();
    let mut live = bed.live(&server, 10_000).await;
    let _held = first_holder(&bed, &mut live).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let emit = move |event| {
        if let Event::Delta(_) = event {
            sender.send(()).unwrap();
        }
    };
    tokio::select! {
        answer = live.call(user("explain"), emit) => panic!("{answer:?}"),
        _ = receiver.recv() => {}
    }
    take_over(&bed.log());
    assert_refused(live.reload_if_interrupted().await);
    assert_eq!(bed.log().search("wheel", None, 2).unwrap().len(), 0);
}

async fn talk(live: &mut LiveSession, rounds: usize) -> Result<(), SessionError> {
    for round in 0..rounds {
        let text = format!("step {round}: see src/file_{round}.rs {}", "and more ".repeat(400));
        live.call(user(text), silent).await?;
    }
    Ok(())
}

#[tokio::test]
async fn no_summary_is_stored_before_a_call() {
    let bed = TestBed::new();
    let log = bed.log();
    let server = Scripted::new(move |received: &Received| {
        if wants_summary(received) {
            take_over(&log);
        }
        fair("Task: build the mill. Done: the wheel. State: order 4711.", received)
    });
    let blocking = policy("auto", &[("summarise.mode", "blocking"), ("summarise.max", "400")]);
    let mut live = bed.open(config(&server, 12_000, blocking)).await;
    let _held = first_holder(&bed, &mut live).await;
    assert_refused(talk(&mut live, 16).await);
    assert_eq!(bed.log().summary("s").unwrap(), None);
}

#[tokio::test]
async fn no_summary_is_stored_in_the_background() {
    let open = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&open);
    let server = Scripted::new(move |received: &Received| {
        while wants_summary(received) && !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        fair("[DAILY]\n- the mill was planned\n[MEMORY]\n- the user likes oak", received)
    });
    let bed = TestBed::new();
    let chat = policy("chat", &[("halve.turns", "6"), ("summarise.max", "300")]);
    let mut live = bed.open(config(&server, 50_000, chat)).await;
    let held = first_holder(&bed, &mut live).await;
    talk(&mut live, 8).await.unwrap();
    take_over(&bed.log());
    open.store(true, Ordering::SeqCst);
    live.finish().await;
    drop(held);
    assert_eq!(bed.log().summary("s").unwrap(), None);
    assert_eq!(bed.log().jobs(Some("s")).unwrap().len(), 1, "the job is left for the holder");
}
