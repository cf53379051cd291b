//! Vectors of messages, made in the background.
//!
//! The log itself is the list of work: a message without a vector is still to do. A killed process
//! loses the batch it was working on, and the next process that opens the log continues.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use waterline::ledger::text_of;
use waterline_log::{Entry, Id, Log, LogError, NoteHash, Unencoded};
use waterline_memory::{EncodeError, Encoder, Memory, TextKind, text_to_encode};
use waterline_provider::wire::parse_stored;

use crate::encoders::{Encoders, JobState};

/// Messages that are encoded and stored at a time. A batch is short, so that the process can end.
const BATCH: usize = 16;

/// Returns a text without the notes that the host program added to it.
pub(crate) type Clean = fn(&str) -> &str;

/// Why the job stopped. It starts again with the next turn.
#[derive(Debug, thiserror::Error)]
enum JobError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Memory(#[from] std::io::Error),
}

impl Encoders {
    /// Encodes the user messages of a log and the lines of a memory that have no vector yet, on a
    /// thread of its own. `clean` returns a text without the notes that the host program added to
    /// it. If the job is already running, it looks for new ones before it ends. It stops when the
    /// encoders are dropped.
    pub fn encode_missing(
        self: &Arc<Self>,
        log: &Log,
        clean: fn(&str) -> &str,
        memory: Option<Arc<Memory>>,
    ) {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |new: &Arc<Memory>| memories.iter().all(|known| known.root() != new.root());
        let new = memory.filter(is_new);
        memories.extend(new);
        drop(memories);
        if !self.start_job() {
            return;
        }
        let encoders = Arc::downgrade(self);
        let log = log.clone();
        let job = move || run(&encoders, &log, clean);
        if std::thread::Builder::new().name("vectors".to_owned()).spawn(job).is_err() {
            self.set_job(JobState::Idle);
        }
    }

    /// Returns whether the caller must start the job.
    fn start_job(&self) -> bool {
        let mut state = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle = *state == JobState::Idle;
        *state = if is_idle { JobState::Running } else { JobState::RunAgain };
        is_idle
    }

    /// Returns whether the job must look for messages once more; if not, it has ended.
    fn continue_job(&self) -> bool {
        let mut state = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        let again = *state == JobState::RunAgain;
        *state = if again { JobState::Running } else { JobState::Idle };
        again
    }

    fn set_job(&self, new: JobState) {
        *self.job.lock().unwrap_or_else(PoisonError::into_inner) = new;
    }
}

fn run(encoders: &Weak<Encoders>, log: &Log, clean: Clean) {
    loop {
        let encoded = encode_all(encoders, log, clean).and_then(|()| encode_notes(encoders, log));
        if let Err(error) = encoded {
            tracing::warn!(target: "waterline::recall", %error, "could not encode messages");
            if let Some(encoders) = encoders.upgrade() {
                encoders.set_job(JobState::Idle);
            }
            return;
        }
        if !encoders.upgrade().is_some_and(|encoders| encoders.continue_job()) {
            return;
        }
    }
}

/// Encodes all messages that have no vector, with each encoder in use.
fn encode_all(encoders: &Weak<Encoders>, log: &Log, clean: Clean) -> Result<(), JobError> {
    let in_use = encoders.upgrade().map(|encoders| encoders.in_use()).unwrap_or_default();
    for encoder in in_use {
        while encoders.strong_count() > 0 {
            let missing = log.unencoded(encoder.name(), BATCH)?;
            if missing.is_empty() {
                break;
            }
            log.put_vectors(encoder.name(), &encode(&*encoder, &missing, clean)?)?;
        }
    }
    Ok(())
}

/// Encodes the lines of the memories that have no vector, and deletes the vectors of lines that are
/// no longer in the files.
fn encode_notes(encoders: &Weak<Encoders>, log: &Log) -> Result<(), JobError> {
    let Some(held) = encoders.upgrade() else { return Ok(()) };
    let memories =
        std::mem::take(&mut *held.memories.lock().unwrap_or_else(PoisonError::into_inner));
    let in_use = held.in_use();
    // The job must not keep the encoders from being dropped.
    drop(held);
    for memory in memories {
        let root = memory.root().display().to_string();
        let lines = memory.searched()?;
        let texts: BTreeMap<NoteHash, &str> =
            lines.iter().map(|line| (line.hash(), line.text.as_str())).collect();
        let hashes: Vec<NoteHash> = texts.keys().copied().collect();
        log.delete_other_note_vectors(&root, &hashes)?;
        for encoder in &in_use {
            for batch in log.unencoded_notes(encoder.name(), &root, &hashes)?.chunks(BATCH) {
                if encoders.strong_count() == 0 {
                    return Ok(());
                }
                let text = |hash: &NoteHash| text_to_encode("user", texts.get(hash)?);
                let found = batch.iter().map(|hash| (*hash, text(hash).map(Cow::into_owned)));
                log.put_note_vectors(encoder.name(), &root, &vectors(&**encoder, found)?)?;
            }
        }
    }
    Ok(())
}

/// Returns a vector for each message, an empty one if it gets none.
fn encode(
    encoder: &dyn Encoder,
    missing: &[Unencoded],
    clean: Clean,
) -> Result<Vec<(Id, Vec<f32>)>, EncodeError> {
    let text = |message: &Unencoded| to_encode(message.entry.as_ref()?, clean);
    vectors(encoder, missing.iter().map(|message| (message.id, text(message))))
}

/// Returns a vector for each text, an empty one if there is none or the encoder does not understand
/// it.
fn vectors<K: Copy + PartialEq>(
    encoder: &dyn Encoder,
    texts: impl Iterator<Item = (K, Option<String>)>,
) -> Result<Vec<(K, Vec<f32>)>, EncodeError> {
    let all: Vec<(K, Option<String>)> = texts.collect();
    let keys: Vec<K> = all.iter().map(|(key, _)| *key).collect();
    let texts = all.into_iter().filter_map(|(key, text)| Some((key, text?)));
    let mut found: Vec<(K, String)> = texts.filter(|(_, text)| encoder.understands(text)).collect();
    // Texts of a similar length are encoded together, so that little is padded.
    found.sort_by_key(|(_, text)| text.len());
    let mut vectors = Vec::new();
    for part in found.chunks(BATCH / 2) {
        let texts: Vec<&str> = part.iter().map(|(_, text)| text.as_str()).collect();
        let encoded = encoder.encode(&texts, TextKind::Message)?;
        vectors.extend(part.iter().map(|(key, _)| *key).zip(encoded));
    }
    let has_none = |key: &K| vectors.iter().all(|(known, _)| known != key);
    let without: Vec<K> = keys.into_iter().filter(has_none).collect();
    vectors.extend(without.into_iter().map(|key| (key, Vec::new())));
    Ok(vectors)
}

/// Returns the text of a message to encode, or `None` if the message gets no vector.
fn to_encode(entry: &Entry, clean: Clean) -> Option<String> {
    let message = entry.message(parse_stored);
    // On some wires the results of tools are messages of the user.
    if message.results().next().is_some() {
        return None;
    }
    let text = text_of(&message);
    Some(text_to_encode(entry.role.name(), clean(&text))?.into_owned())
}
