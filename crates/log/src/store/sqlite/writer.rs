//! The one writer of a process. It commits whatever waits together, so that many share one flush;
//! each write of a group may fail alone.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;

use super::handle::Handle;
use crate::error::{LogError, Result};
use crate::store::transaction::Transaction;
use crate::store::{Connection as _, Finish, Job, Work};

/// The most writes that share one commit.
const GROUP: usize = 256;

/// The thread that writes.
pub(super) struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// What is written.
pub(super) enum Task {
    /// By one operation.
    Work(Work),
    /// By several operations.
    Job(Job),
}

struct Request {
    task: Task,
    finish: Finish,
}

impl Writer {
    pub(super) fn start(handle: Handle) -> Self {
        let (requests, received) = channel();
        let lane = Lane { name: handle.name.clone(), handle: Some(handle) };
        let thread = std::thread::spawn(move || lane.serve(&received));
        Self { requests: Some(requests), thread: Some(thread) }
    }

    /// Has work done, and waits until it is on the disk.
    pub(super) fn write(&self, name: &str, work: Work) -> Result<()> {
        let (reply, answer) = sync_channel(1);
        self.queue(name, Task::Work(work), Box::new(move |outcome| drop(reply.send(outcome))));
        answer.recv().unwrap_or_else(|_| Err(stopped(name)))
    }

    /// Has work done; `finish` is called once it is on the disk.
    pub(super) fn queue(&self, name: &str, task: Task, finish: Finish) {
        let Some(requests) = &self.requests else { return finish(Err(stopped(name))) };
        if let Err(unsent) = requests.send(Request { task, finish }) {
            (unsent.0.finish)(Err(stopped(name)));
        }
    }
}

fn stopped(name: &str) -> LogError {
    LogError::Flush { name: name.to_owned(), text: "the writer has stopped".to_owned() }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) =
            self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id())
        {
            drop(thread.join());
        }
    }
}

/// The writer's side: its connection, which a job takes over while it runs.
struct Lane {
    name: String,
    handle: Option<Handle>,
}

impl Lane {
    fn serve(mut self, requests: &Receiver<Request>) {
        let mut failed: Option<String> = None;
        while let Ok(first) = requests.recv() {
            let group: Vec<Request> =
                std::iter::once(first).chain(requests.try_iter().take(GROUP - 1)).collect();
            if let Some(text) = &failed {
                for request in group {
                    (request.finish)(Err(LogError::Flush {
                        name: self.name.clone(),
                        text: text.clone(),
                    }));
                }
                continue;
            }
            failed = self.commit(group);
        }
    }

    fn handle(&mut self) -> Result<&mut Handle> {
        self.handle.as_mut().ok_or_else(|| stopped(&self.name))
    }

    /// Runs a group of writes in one transaction, each of which may fail alone. Says why nothing
    /// more may be written, if the flush itself failed: then the disk may hold less than was handed
    /// to it.
    fn commit(&mut self, group: Vec<Request>) -> Option<String> {
        if let Err(error) = self.handle().and_then(|handle| handle.batch("BEGIN IMMEDIATE")) {
            return refuse(group, &error);
        }
        let mut waiting = group.into_iter();
        let mut done = Vec::new();
        while let Some(request) = waiting.next() {
            let outcome = self.alone(&request.task);
            match outcome {
                // A full disk takes back the whole transaction, with everything that was done in
                // it.
                Err(error) if self.handle.as_ref().is_none_or(Handle::is_over) => {
                    let all =
                        done.into_iter().map(|(request, _)| request).chain([request]).collect();
                    return refuse(all, &error).or_else(|| {
                        let rest: Vec<Request> = waiting.collect();
                        if rest.is_empty() { None } else { self.commit(rest) }
                    });
                }
                outcome => done.push((request, outcome)),
            }
        }
        match self.handle().and_then(|handle| handle.end(true)) {
            Ok(()) => {
                done.into_iter().for_each(|(request, outcome)| (request.finish)(outcome));
                None
            }
            Err(error) => refuse(done.into_iter().map(|(request, _)| request).collect(), &error),
        }
    }

    /// One write of a group: fails without the others.
    fn alone(&mut self, task: &Task) -> Result<()> {
        let handle = self.handle()?;
        handle.batch("SAVEPOINT alone")?;
        let outcome = match task {
            Task::Work(work) => work(handle),
            Task::Job(job) => self.run(job),
        };
        self.handle()?.end_alone(outcome)
    }

    fn run(&mut self, job: &Job) -> Result<()> {
        let handle = self.handle.take().ok_or_else(|| stopped(&self.name))?;
        let (handle, outcome) = Transaction::run(handle, job);
        self.handle = handle;
        outcome
    }
}

/// Tells everybody that nothing was written.
fn refuse(group: Vec<Request>, error: &LogError) -> Option<String> {
    for request in group {
        (request.finish)(Err(error.clone()));
    }
    match error {
        LogError::Flush { text, .. } => Some(text.clone()),
        _ => None,
    }
}
