//! The one writer of a process. It commits whatever waits together, so that many share one flush; each write of a group may
//! fail alone.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::handle::Handle;
use crate::error::{LogError, Result};
use crate::store::Work;

/// The most writes that share one commit.
const GROUP: usize = 256;

/// The thread that writes.
pub(super) struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

struct Request {
    work: Work,
    reply: SyncSender<Result<()>>,
}

impl Writer {
    pub(super) fn start(handle: Handle) -> Self {
        let (requests, received) = channel();
        let thread = std::thread::spawn(move || serve(handle, &received));
        Self { requests: Some(requests), thread: Some(thread) }
    }

    /// Has work done, and waits until it is on the disk.
    pub(super) fn write(&self, name: &str, work: Work) -> Result<()> {
        let stopped = || LogError::Flush { name: name.to_owned(), text: "the writer has stopped".to_owned() };
        let (reply, answer) = sync_channel(1);
        let sent = self.requests.as_ref().map(|requests| requests.send(Request { work, reply }));
        sent.and_then(std::result::Result::ok).ok_or_else(stopped)?;
        answer.recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(mut handle: Handle, requests: &Receiver<Request>) {
    let mut failed: Option<String> = None;
    while let Ok(first) = requests.recv() {
        let group: Vec<Request> = std::iter::once(first).chain(requests.try_iter().take(GROUP - 1)).collect();
        if let Some(text) = &failed {
            for request in group {
                answer(request, Err(LogError::Flush { name: handle.name.clone(), text: text.clone() }));
            }
            continue;
        }
        failed = commit(&mut handle, group);
    }
}

fn answer(request: Request, outcome: Result<()>) {
    // Whoever asked may be gone; what was done stays done.
    drop(request.reply.send(outcome));
}

/// Runs a group of writes in one transaction, each of which may fail alone. Says why nothing more may be written, if the
/// flush itself failed: then the disk may hold less than was handed to it.
fn commit(handle: &mut Handle, group: Vec<Request>) -> Option<String> {
    if let Err(error) = handle.batch("BEGIN IMMEDIATE") {
        return refuse(group, &error);
    }
    let mut waiting = group.into_iter();
    let mut done = Vec::new();
    while let Some(request) = waiting.next() {
        let outcome = handle.alone(&request.work);
        match outcome {
            // A full disk takes back the whole transaction, with everything that was done in it.
            Err(error) if handle.is_over() => {
                let all = done.into_iter().map(|(request, _)| request).chain([request]).collect();
                return refuse(all, &error).or_else(|| {
                    let rest: Vec<Request> = waiting.collect();
                    if rest.is_empty() { None } else { commit(handle, rest) }
                });
            }
            outcome => done.push((request, outcome)),
        }
    }
    match handle.end(true) {
        Ok(()) => {
            done.into_iter().for_each(|(request, outcome)| answer(request, outcome));
            None
        }
        Err(error) => refuse(done.into_iter().map(|(request, _)| request).collect(), &error),
    }
}

/// Tells everybody that nothing was written.
fn refuse(group: Vec<Request>, error: &LogError) -> Option<String> {
    for request in group {
        answer(request, Err(same(error)));
    }
    match error {
        LogError::Flush { text, .. } => Some(text.clone()),
        _ => None,
    }
}

/// The same error for one more who asked.
fn same(error: &LogError) -> LogError {
    match error {
        LogError::Full { name } => LogError::Full { name: name.clone() },
        LogError::ReadOnly { name } => LogError::ReadOnly { name: name.clone() },
        LogError::Locked { name } => LogError::Locked { name: name.clone() },
        LogError::Flush { name, text } => LogError::Flush { name: name.clone(), text: text.clone() },
        LogError::Damaged { name, text } => LogError::Damaged { name: name.clone(), text: text.clone() },
        LogError::Database { name, text } => LogError::Database { name: name.clone(), text: text.clone() },
        other => LogError::Refused(other.to_string()),
    }
}
