//! What a session remembers from one call to the next, beside the conversation itself. The steps
//! that use it are methods of the session, in the files named after them.

use std::collections::BTreeSet;

use tokio::task::JoinHandle;
use waterline_log::Usage;
use waterline_provider::wire::Shape;

/// The call before this one.
#[derive(Clone, Debug)]
pub(crate) struct LastCall {
    /// When, in milliseconds since 1970.
    pub(crate) time: i64,
    pub(crate) model: String,
}

impl LastCall {
    pub(crate) fn of(usage: &Usage) -> Self {
        Self { time: usage.time, model: usage.model.clone() }
    }

    pub(crate) const fn new(time: i64, model: String) -> Self {
        Self { time, model }
    }
}

/// What the provider said about the prompt of an earlier call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    /// Which model, and in which generation.
    pub(crate) at: (usize, u64),
    /// How many messages there were.
    pub(crate) messages: usize,
    pub(crate) real: usize,
}

/// What the next answer must be.
#[derive(Debug, Default)]
pub(crate) struct AnswerShape {
    pub(crate) shape: Option<Shape>,
    /// Nothing but that answer is wanted any more.
    pub(crate) insists: bool,
    /// The models that refused a call for its shape, by the names under which model_stats with them
    /// is kept.
    pub(crate) refused: BTreeSet<String>,
}

/// What a fold is to keep above all.
#[derive(Clone, Debug)]
pub(crate) struct Focus {
    /// In somebody's words.
    pub(crate) words: String,
    /// The messages that fit them best, by their place in the session.
    pub(crate) pins: Vec<u64>,
}

/// A summary that is being made beside the calls.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The generation it was made for; with it goes the summary.
    pub(crate) generation: u64,
    pub(crate) sources: Vec<usize>,
    pub(crate) task: JoinHandle<Option<String>>,
    /// What came of it, once somebody waited for it.
    pub(crate) made: Option<Option<String>>,
}

impl Pending {
    pub(crate) async fn wait(&mut self) {
        if self.made.is_none() {
            self.made = Some((&mut self.task).await.ok().flatten());
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Work that is done is not undone by this; work that nobody waits for any more is.
        self.task.abort();
    }
}
