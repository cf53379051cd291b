//! Replays many conversations on several threads, with a bounded number of them in memory and the
//! results in the order of the input.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use waterline_transcript::Transcript;

use crate::run::{Context, Outcome, ReplayConfig, replay};

/// One conversation to replay.
#[derive(Debug)]
#[non_exhaustive]
pub struct Job {
    /// The index of the dataset it belongs to.
    pub dataset: usize,
    /// The conversation to replay.
    pub transcript: Transcript,
}

impl Job {
    /// Creates the job of a conversation.
    #[must_use]
    pub const fn new(dataset: usize, transcript: Transcript) -> Self {
        Self { dataset, transcript }
    }
}

/// The result of one conversation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Done {
    /// The index of the dataset it belongs to.
    pub dataset: usize,
    /// The conversation's id.
    pub id: String,
    /// The outcomes, policy by policy and window by window.
    pub outcomes: Vec<Outcome>,
}

/// A callback that gets every context, with the number of its conversation in the order of the
/// input. Several threads call it at the same time.
pub type Watch<'a> = dyn Fn(usize, &Context<'_>) + Sync + 'a;

/// Replays the jobs that `produce` emits on `threads` threads, and passes the results to `collect`
/// in the same order.
///
/// # Errors
/// The error of `produce`.
pub fn replay_all<E: Send>(
    config: &ReplayConfig,
    threads: usize,
    watch: &Watch<'_>,
    produce: impl FnOnce(&mut dyn FnMut(Job)) -> Result<(), E> + Send,
    mut collect: impl FnMut(Done),
) -> Result<(), E> {
    let (job_in, job_out) = sync_channel::<(usize, Job)>(threads);
    let (done_in, done_out) = sync_channel::<(usize, Done)>(threads);
    // Only the workers own the receiver: if they all panic, sending fails instead of blocking.
    let jobs = Arc::new(Mutex::new(job_out));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let jobs = Arc::clone(&jobs);
            let done_in = done_in.clone();
            scope.spawn(move || {
                while let Some((number, job)) = next(&jobs) {
                    if done_in.send((number, work(number, job, config, watch))).is_err() {
                        return;
                    }
                }
            });
        }
        drop((jobs, done_in));
        let reader = scope.spawn(move || {
            let mut number = 0;
            produce(&mut |job| {
                // Sending fails only if every worker has panicked; the scope propagates the panic.
                let _ = job_in.send((number, job));
                number += 1;
            })
        });
        in_order(&done_out, &mut collect);
        match reader.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn next(jobs: &Mutex<Receiver<(usize, Job)>>) -> Option<(usize, Job)> {
    jobs.lock().ok()?.recv().ok()
}

fn work(number: usize, job: Job, config: &ReplayConfig, watch: &Watch<'_>) -> Done {
    let id = job.transcript.id.clone();
    let outcomes = replay(job.transcript, config, |context| watch(number, context));
    Done { dataset: job.dataset, id, outcomes }
}

/// Passes results on in the order of the jobs, because sums of floats depend on their order.
fn in_order(done: &Receiver<(usize, Done)>, collect: &mut impl FnMut(Done)) {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    while let Ok((number, result)) = done.recv() {
        waiting.insert(number, result);
        while let Some(result) = waiting.remove(&next) {
            collect(result);
            next += 1;
        }
    }
}
