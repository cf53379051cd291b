//! State that a session keeps between calls, in addition to the conversation. The steps that use it
//! are methods of the session, in the files named after them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;
use waterline_log::Usage;
use waterline_provider::wire::Shape;

use crate::recall::Passage;

/// What the next call needs to know about the one before it.
#[derive(Clone, Debug)]
pub(crate) struct LastCall {
    /// When it was made, in milliseconds since 1970.
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

/// The provider's report about the prompt of an earlier call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    /// The model and the generation.
    pub(crate) at: (usize, u64),
    /// The number of messages at that call.
    pub(crate) messages: usize,
    pub(crate) prompt_tokens: usize,
}

/// The required shape of the next answer.
#[derive(Debug, Default)]
pub(crate) struct AnswerShape {
    pub(crate) shape: Option<Shape>,
    /// Whether the model only has to answer in this shape and no longer needs its tools.
    pub(crate) insists: bool,
    /// The models that rejected a call because of its shape, by their statistics key.
    pub(crate) refused: BTreeSet<String>,
}

/// A sentence of the user that a model takes for a standing instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedRule {
    /// The sentence, as the user wrote it.
    pub text: String,
    /// The number of the message in the session, from 1.
    pub position: u64,
}

/// The rules that models named in summaries, until the host program takes them.
pub(crate) type NamedRules = Arc<Mutex<Vec<NamedRule>>>;

/// A search for passages that a plan may quote.
pub(crate) type Searching = JoinHandle<waterline_log::Result<Vec<Passage>>>;

/// A topic that a fold should keep above all.
#[derive(Clone, Debug)]
pub(crate) struct Focus {
    pub(crate) topic: String,
    /// The best matching messages, by their position in the session.
    pub(crate) pins: Vec<u64>,
}

/// A summary that is being made in the background.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The generation it is made for. It is dropped together with that generation.
    pub(crate) generation: u64,
    pub(crate) sources: Vec<usize>,
    /// Whether the memory gets it too.
    pub(crate) for_memory: bool,
    pub(crate) task: JoinHandle<Option<String>>,
    /// The result, once the task was awaited.
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
        // Has no effect on finished work; unfinished work is no longer needed.
        self.task.abort();
    }
}
