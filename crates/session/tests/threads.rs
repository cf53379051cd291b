//! Long work of a session runs on the log's threads, so that it does not delay other sessions;
//! short work stays on the caller's.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails loudly")]

mod test_bed;

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use test_bed::{TestBed, config, fair, policy, silent};
use waterline::Draft;
use waterline::message::Message;

use waterline::stage::Stage;
use waterline_testkit::scripted::Scripted;

/// Notes the thread of each fold.
#[derive(Clone, Debug, Default)]
struct Where(Arc<Mutex<Vec<ThreadId>>>);

impl Stage for Where {
    fn fold(&self, _: &mut Draft<'_>) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

/// Folds a session of this many messages. Returns whether another thread planned the fold.
async fn folds_elsewhere(messages: usize) -> bool {
    let bed = TestBed::new();
    let server = Scripted::new(|received| fair("noted", received));
    let seen = Where::default();
    let mut policy = policy("tail", &[]);
    policy.stages.push(Arc::new(seen.clone()));
    let mut live = bed.open(config(&server, 100_000, policy)).await;
    let message = |n: usize| match n % 2 {
        0 => Message::user(format!("question {n} about the tide")),
        _ => Message::assistant(format!("answer {n} about the harbor")),
    };
    live.add_messages((0..messages).map(message).collect()).await.unwrap();
    live.commit().await.unwrap();
    live.fold("to see where", None, silent).await.unwrap();
    let threads = seen.0.lock().unwrap();
    assert!(!threads.is_empty(), "it planned a fold");
    let own = thread::current().id();
    assert!(threads.iter().all(|thread| (*thread == own) == (threads[0] == own)));
    threads[0] != own
}

#[tokio::test]
async fn only_long_folds_leave_the_thread_of_the_caller() {
    assert!(!folds_elsewhere(40).await);
    assert!(folds_elsewhere(1_000).await);
}
