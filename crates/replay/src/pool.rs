//! Many conversations on all cores, with a bounded number of them in memory, and results in the
//! order of the input.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use waterline_transcript::Transcript;

use crate::run::{Context, Outcome, ReplayConfig, replay};

/// One conversation to replay.
#[derive(Debug)]
pub struct Job {
    /// Where it comes from, for the rows.
    pub dataset: usize,
    /// The conversation.
    pub transcript: Transcript,
}

/// A conversation that was replayed.
#[derive(Debug)]
pub struct Done {
    /// Where it came from.
    pub dataset: usize,
    /// Its id.
    pub id: String,
    /// What each policy did with it, policy by policy and window by window.
    pub outcomes: Vec<Outcome>,
}

/// Is shown every context, by several threads at once.
pub type Watch<'a> = dyn Fn(&Context<'_>) + Sync + 'a;

/// Replays what `produce` hands over, on so many threads, and gives the results to `collect` in the
/// same order.
///
/// # Errors
/// What `produce` fails with.
pub fn replay_all<E: Send>(
    setup: &ReplayConfig,
    threads: usize,
    watch: &Watch<'_>,
    produce: impl FnOnce(&mut dyn FnMut(Job)) -> Result<(), E> + Send,
    mut collect: impl FnMut(Done),
) -> Result<(), E> {
    let (job_in, job_out) = sync_channel::<(usize, Job)>(threads);
    let (done_in, done_out) = sync_channel::<(usize, Done)>(threads);
    // The workers own it: should they all die, whoever sends is told.
    let jobs = Arc::new(Mutex::new(job_out));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (jobs, done_in) = (Arc::clone(&jobs), done_in.clone());
            scope.spawn(move || {
                while let Some((number, job)) = next(&jobs) {
                    if done_in.send((number, work(job, setup, watch))).is_err() {
                        return;
                    }
                }
            });
        }
        drop((jobs, done_in));
        let reader = scope.spawn(move || {
            let mut number = 0;
            produce(&mut |job| {
                // Nobody takes it any more only when every worker has died; the scope passes their
                // panic on.
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

fn work(job: Job, setup: &ReplayConfig, watch: &Watch<'_>) -> Done {
    let id = job.transcript.id.clone();
    Done { dataset: job.dataset, id, outcomes: replay(job.transcript, setup, watch) }
}

/// Sums of fractions depend on their order: results that come early wait for their turn.
fn in_order(done: &Receiver<(usize, Done)>, collect: &mut impl FnMut(Done)) {
    let mut waiting = BTreeMap::new();
    let mut turn = 0;
    while let Ok((number, result)) = done.recv() {
        waiting.insert(number, result);
        while let Some(result) = waiting.remove(&turn) {
            collect(result);
            turn += 1;
        }
    }
}
