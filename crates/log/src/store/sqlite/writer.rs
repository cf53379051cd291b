//! The single writer thread of a process. It commits waiting writes as a group, so that they share
//! one flush. Each write of a group may fail without the others.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::JoinHandle;

use waterline::phrase;

use waterline::phrase::Phrase;

use super::handle::Handle;
use crate::error::{LogError, Result};
use crate::store::transaction::Transaction;
use crate::store::{Connection as _, Finish, Job, Work};

/// The maximum number of writes per commit.
const MAX_GROUP: usize = 256;

/// A handle to the writer thread.
pub(super) struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

pub(super) enum Task {
    /// One operation.
    Work(Work),
    /// Several operations.
    Job(Job),
}

struct Request {
    task: Task,
    finish: Finish,
}

impl Writer {
    /// Starts the thread. `path` is the file that the connection has open.
    pub(super) fn start(handle: Handle, path: &Path) -> Self {
        let (requests, received) = channel();
        // The process may change its directory.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let file = OpenFile { identity: identity(&path), path };
        let worker = Worker { name: handle.name.clone(), file, handle: Some(handle) };
        let thread = std::thread::spawn(move || worker.serve(&received));
        Self { requests: Some(requests), thread: Some(thread) }
    }

    /// Runs `work` on the writer thread and waits until it is durable.
    pub(super) fn write(&self, name: &str, work: Work) -> Result<()> {
        let (reply, answer) = sync_channel(1);
        self.queue(name, Task::Work(work), Box::new(move |outcome| drop(reply.send(outcome))));
        answer.recv().unwrap_or_else(|_| Err(stopped(name)))
    }

    /// Queues a task. `finish` is called once it is durable or has failed.
    pub(super) fn queue(&self, name: &str, task: Task, finish: Finish) {
        let Some(requests) = &self.requests else { return finish(Err(stopped(name))) };
        if let Err(unsent) = requests.send(Request { task, finish }) {
            (unsent.0.finish)(Err(stopped(name)));
        }
    }
}

fn stopped(name: &str) -> LogError {
    LogError::Flush {
        name: name.to_owned(),
        text: phrase!("log-writer-stopped", "the writer thread has stopped"),
    }
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

/// The state of the writer thread.
struct Worker {
    name: String,
    file: OpenFile,
    /// `None` while a job uses the connection.
    handle: Option<Handle>,
}

impl Worker {
    fn serve(mut self, requests: &Receiver<Request>) {
        let mut failed: Option<Phrase> = None;
        while let Ok(first) = requests.recv() {
            let group: Vec<Request> =
                std::iter::once(first).chain(requests.try_iter().take(MAX_GROUP - 1)).collect();
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

    /// Runs a group of writes in one transaction. If the flush fails, returns its error text: no
    /// more writes may follow, because the disk may hold less than was written to it.
    fn commit(&mut self, group: Vec<Request>) -> Option<Phrase> {
        if let Err(error) = self.handle().and_then(|handle| handle.batch("BEGIN IMMEDIATE")) {
            return refuse(group, &error);
        }
        let mut waiting = group.into_iter();
        let mut done = Vec::new();
        while let Some(request) = waiting.next() {
            let outcome = self.run_in_savepoint(&request.task);
            match outcome {
                // On a full disk SQLite rolls back the whole transaction, including earlier writes.
                Err(error) if self.handle.as_ref().is_none_or(Handle::is_rolled_back) => {
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
        let committed = self.handle().and_then(|handle| handle.end(true));
        match committed.and_then(|()| self.check_file()) {
            Ok(()) => {
                done.into_iter().for_each(|(request, outcome)| (request.finish)(outcome));
                None
            }
            Err(error) => refuse(done.into_iter().map(|(request, _)| request).collect(), &error),
        }
    }

    /// Checks that the file still has its name. What is written to a deleted file is lost.
    fn check_file(&self) -> Result<()> {
        if self.file.identity == identity(&self.file.path) {
            Ok(())
        } else {
            Err(LogError::Deleted { name: self.name.clone() })
        }
    }

    /// Runs one write of a group in a savepoint, so that it can fail without the others.
    fn run_in_savepoint(&mut self, task: &Task) -> Result<()> {
        let handle = self.handle()?;
        handle.batch("SAVEPOINT alone")?;
        let outcome = match task {
            Task::Work(work) => work(handle),
            Task::Job(job) => self.run_job(job),
        };
        self.handle()?.end_savepoint(outcome)
    }

    fn run_job(&mut self, job: &Job) -> Result<()> {
        let handle = self.handle.take().ok_or_else(|| stopped(&self.name))?;
        let (handle, outcome) = Transaction::run(handle, job);
        self.handle = handle;
        outcome
    }
}

/// The file of a log, to notice that it was deleted or replaced.
struct OpenFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

/// Returns the device and the number of a file; `None` if it does not exist or the system has none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        path.exists().then_some((0, 0))
    }
}

/// Fails all writes of a group. Returns the text of a flush error.
fn refuse(group: Vec<Request>, error: &LogError) -> Option<Phrase> {
    for request in group {
        (request.finish)(Err(error.clone()));
    }
    match error {
        LogError::Flush { text, .. } => Some(text.clone()),
        LogError::Deleted { .. } => Some(phrase!("log-file-deleted", "the file was deleted")),
        _ => None,
    }
}
