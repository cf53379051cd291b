//! The pinned sentences of an index, without templates.

use rustc_hash::FxHashMap;

use crate::pin::PinKind;

/// A sentence in more sessions than this is a template, not something that the user wants kept.
const SESSIONS: usize = 3;

/// Pinned sentences, in the order in which they were first found.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    sentences: Vec<Sentence>,
    numbers: FxHashMap<String, usize>,
}

#[derive(Debug)]
struct Sentence {
    kind: PinKind,
    text: String,
    messages: Vec<usize>,
    /// The sessions it occurs in, up to one more than a sentence may have.
    sessions: Vec<u32>,
}

impl Pinned {
    /// Adds a sentence of a message.
    pub(crate) fn add(&mut self, message: usize, session: u32, kind: PinKind, text: String) {
        let key = text.to_lowercase();
        let at = *self.numbers.entry(key).or_insert_with(|| {
            let sentence = Sentence { kind, text, messages: Vec::new(), sessions: Vec::new() };
            self.sentences.push(sentence);
            self.sentences.len() - 1
        });
        let Some(sentence) = self.sentences.get_mut(at) else { return };
        if !sentence.sessions.contains(&session) && sentence.sessions.len() <= SESSIONS {
            sentence.sessions.push(session);
        }
        if sentence.sessions.len() > SESSIONS {
            sentence.messages = Vec::new();
        } else {
            sentence.messages.push(message);
        }
    }

    /// Returns each sentence that is not a template, with each message that has it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, PinKind, &str)> {
        self.sentences.iter().flat_map(|sentence| {
            let messages = sentence.messages.iter();
            messages.map(|&message| (message, sentence.kind, sentence.text.as_str()))
        })
    }
}
