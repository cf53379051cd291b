//! Many conversations on all cores, with a bounded number of them in memory, and results in the order of the input.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};

use waterline_transcript::Transcript;

use crate::run::{Context, Outcome, Setup, replay};

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
    /// What `record` made of its contexts.
    pub record: String,
}

/// Writes down a context, if somebody wants them all.
pub type Record = dyn Fn(&Context<'_>, &mut String) + Sync;

/// Replays what `produce` hands over, on so many threads, and gives the results to `collect` in the same order.
pub fn replay_all<E: Send>(
    setup: &Setup,
    threads: usize,
    record: Option<&Record>,
    produce: impl FnOnce(&mut dyn FnMut(Job)) -> Result<(), E> + Send,
    mut collect: impl FnMut(Done),
) -> Result<(), E> {
    let (job_in, job_out) = sync_channel::<(usize, Job)>(threads);
    let (done_in, done_out) = sync_channel::<(usize, Done)>(threads);
    let jobs = Mutex::new(job_out);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut number = 0;
            produce(&mut |job| {
                // Nobody listens any more only when every worker has died; then there is nothing left to do.
                let _ = job_in.send((number, job));
                number += 1;
            })
        });
        for _ in 0..threads {
            let (jobs, done_in) = (&jobs, done_in.clone());
            scope.spawn(move || {
                while let Some((number, job)) = next(jobs) {
                    let _ = done_in.send((number, work(job, setup, record)));
                }
            });
        }
        drop(done_in);
        in_order(&done_out, &mut collect);
        reader.join().unwrap_or(Ok(()))
    })
}

fn next(jobs: &Mutex<Receiver<(usize, Job)>>) -> Option<(usize, Job)> {
    jobs.lock().ok()?.recv().ok()
}

fn work(job: Job, setup: &Setup, record: Option<&Record>) -> Done {
    let id = job.transcript.id.clone();
    let mut text = String::new();
    let outcomes = replay(job.transcript, setup, |context| {
        if let Some(record) = record {
            record(context, &mut text);
        }
    });
    Done { dataset: job.dataset, id, outcomes, record: text }
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
