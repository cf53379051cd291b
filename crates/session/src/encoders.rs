//! The encoders that a program has for search by meaning. They are loaded when they are first
//! needed, and a question that takes too long to encode is answered by keywords alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use waterline_memory::{Encoder, Memory, TextKind};

/// The default time that a search waits for the vector of a question.
const TIMEOUT: Duration = Duration::from_millis(50);

/// A text of each kind that encoders distinguish.
const SAMPLES: [&str; 2] = ["text", "文字"];

/// Loads an encoder, or says why it cannot be loaded.
pub type LoadEncoder = Box<dyn Fn() -> Result<Arc<dyn Encoder>, String> + Send + Sync>;

/// The encoders of a program, in the order of preference.
pub struct Encoders {
    slots: Vec<Slot>,
    timeout: Duration,
    /// The last question: several sessions are often searched for the same one.
    last: Mutex<Option<EncodedQuestion>>,
    pub(crate) job: Mutex<JobState>,
    /// The memories whose lines the job encodes next.
    pub(crate) memories: Mutex<Vec<Arc<Memory>>>,
}

struct Slot {
    load: LoadEncoder,
    loaded: OnceLock<Option<Arc<dyn Encoder>>>,
}

/// What the job that makes vectors is doing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum JobState {
    #[default]
    Idle,
    Running,
    /// Running, and messages may have arrived since it looked for them.
    RunAgain,
}

/// A question and its vector.
#[derive(Clone)]
pub(crate) struct EncodedQuestion {
    question: String,
    pub(crate) encoder: Arc<dyn Encoder>,
    pub(crate) vector: Vec<f32>,
}

impl fmt::Debug for Encoders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoders").field("count", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Encoders {
    /// Creates a list of encoders, the preferred ones first. None is loaded yet.
    #[must_use]
    pub fn new(encoders: Vec<LoadEncoder>) -> Self {
        let slot = |load| Slot { load, loaded: OnceLock::new() };
        Self {
            slots: encoders.into_iter().map(slot).collect(),
            timeout: TIMEOUT,
            last: Mutex::default(),
            job: Mutex::default(),
            memories: Mutex::default(),
        }
    }

    /// Sets how long search waits for the vector of a question.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Returns the encoders that can be loaded. This may take long; an encoder that fails is not
    /// loaded again.
    pub(crate) fn loaded(&self) -> impl DoubleEndedIterator<Item = &Arc<dyn Encoder>> {
        self.slots.iter().filter_map(|slot| slot.loaded.get_or_init(|| load(slot)).as_ref())
    }

    /// Returns the encoders that encode new messages: for each kind of text the first one that
    /// understands it. The others are used only for the vectors that they made earlier.
    pub(crate) fn in_use(&self) -> Vec<Arc<dyn Encoder>> {
        let mut chosen: Vec<Arc<dyn Encoder>> = Vec::new();
        for sample in SAMPLES {
            let first = self.loaded().find(|encoder| encoder.understands(sample));
            if let Some(first) = first.filter(|first| chosen.iter().all(|it| !is_same(it, first))) {
                chosen.push(Arc::clone(first));
            }
        }
        chosen
    }

    /// Encodes a question with the encoder that has the most vectors of the messages to compare;
    /// `counts` has their number by encoder. A new encoder therefore takes over when it has encoded
    /// as much as the old one. Returns `None` if no encoder understands the question, or it is
    /// late.
    pub(crate) fn encode_question(
        self: &Arc<Self>,
        question: &str,
        counts: BTreeMap<String, usize>,
    ) -> Option<EncodedQuestion> {
        if counts.is_empty() {
            return None;
        }
        let (reply, done) = channel();
        let encoders = Arc::clone(self);
        let question = question.to_owned();
        // A thread of its own: an encoder that hangs must not hold the caller.
        let encode = move || drop(reply.send(encoders.encode_now(&question, &counts)));
        std::thread::Builder::new().name("encode-question".to_owned()).spawn(encode).ok()?;
        match done.recv_timeout(self.timeout) {
            Ok(encoded) => encoded,
            Err(_) => {
                tracing::debug!(target: "waterline::recall", "the encoder is late; using keywords");
                None
            }
        }
    }

    fn encode_now(
        &self,
        question: &str,
        counts: &BTreeMap<String, usize>,
    ) -> Option<EncodedQuestion> {
        let count = |encoder: &&Arc<dyn Encoder>| counts.get(encoder.name()).copied();
        // Of several with the same number the preferred one: `max_by_key` returns the last.
        let able = self.loaded().rev().filter(|encoder| encoder.understands(question));
        let encoder = able.filter(|encoder| count(encoder).is_some()).max_by_key(count)?;
        if let Some(last) = self.last(question, encoder) {
            return Some(last);
        }
        let encoding = encoder.encode(&[question], TextKind::Question);
        let vectors = encoding.inspect_err(|error| {
            tracing::warn!(target: "waterline::recall", %error, "using keywords");
        });
        let encoded = EncodedQuestion {
            question: question.to_owned(),
            encoder: Arc::clone(encoder),
            vector: vectors.ok()?.pop()?,
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(encoded.clone());
        Some(encoded)
    }

    fn last(&self, question: &str, encoder: &Arc<dyn Encoder>) -> Option<EncodedQuestion> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref()
            .filter(|last| last.question == question && is_same(&last.encoder, encoder))
            .cloned()
    }
}

fn is_same(one: &Arc<dyn Encoder>, other: &Arc<dyn Encoder>) -> bool {
    one.name() == other.name()
}

fn load(slot: &Slot) -> Option<Arc<dyn Encoder>> {
    let loaded = (slot.load)();
    loaded
        .inspect_err(|error| {
            tracing::warn!(target: "waterline::recall", %error, "cannot load an encoder");
        })
        .ok()
}
