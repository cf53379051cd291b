//! The vectors of a set's messages and questions.

use super::Conversation;
use crate::vector::{EncodeError, Encoder, TextKind, cosine, text_to_encode};
use crate::weights::Weights;

/// How many texts are encoded together.
const BATCH: usize = 32;

/// The vectors of a set.
#[derive(Debug)]
pub struct Vectors {
    /// The weights that fit them.
    pub(super) weights: Weights,
    conversations: Vec<Encoded>,
}

impl Vectors {
    pub(super) fn conversation(&self, at: usize) -> Option<&Encoded> {
        self.conversations.get(at)
    }
}

/// The vectors of a conversation; nothing for a text that has none.
#[derive(Debug)]
pub(super) struct Encoded {
    turns: Vec<Option<Vec<f32>>>,
    questions: Vec<Option<Vec<f32>>>,
}

impl Encoded {
    pub(super) fn turn(&self, at: usize) -> Option<&[f32]> {
        self.turns.get(at)?.as_deref()
    }

    pub(super) fn question(&self, at: usize) -> Option<&[f32]> {
        self.questions.get(at)?.as_deref()
    }

    pub(super) fn similarity(&self, question: &[f32], turn: usize) -> f64 {
        self.turn(turn).map_or(0.0, |turn| cosine(question, turn))
    }
}

/// Encodes the messages and the questions of a set. `progress` receives the number of texts that
/// are done and the number of all.
///
/// # Errors
///
/// If the encoder fails.
pub fn encode(
    set: &[Conversation],
    encoder: &dyn Encoder,
    mut progress: impl FnMut(usize, usize),
) -> Result<Vectors, EncodeError> {
    let all = set.iter().map(|conversation| conversation.turns.len()).sum();
    let mut done = 0;
    let mut conversations = Vec::new();
    for conversation in set {
        let texts = conversation
            .turns
            .iter()
            .map(|turn| text_to_encode(turn.speaker(), &turn.text))
            .map(|text| text.map(std::borrow::Cow::into_owned))
            .collect::<Vec<_>>();
        let turns = encode_some(encoder, &texts, TextKind::Message, |texts| {
            progress(done + texts, all);
        })?;
        done += conversation.turns.len();
        let queries = conversation.queries.iter();
        let questions = queries
            .map(|query| Some(query.question.clone()).filter(|text| encoder.understands(text)))
            .collect::<Vec<_>>();
        let questions = encode_some(encoder, &questions, TextKind::Question, |_| {})?;
        conversations.push(Encoded { turns, questions });
    }
    Ok(Vectors { weights: encoder.weights(), conversations })
}

/// Encodes the texts that are present.
fn encode_some(
    encoder: &dyn Encoder,
    texts: &[Option<String>],
    kind: TextKind,
    mut progress: impl FnMut(usize),
) -> Result<Vec<Option<Vec<f32>>>, EncodeError> {
    let mut vectors = vec![None; texts.len()];
    let mut present: Vec<(usize, &str)> =
        texts.iter().enumerate().filter_map(|(at, text)| Some((at, text.as_deref()?))).collect();
    // Texts of a similar length are encoded together, so that little is padded.
    present.sort_by_key(|(_, text)| text.len());
    let mut done = 0;
    for batch in present.chunks(BATCH) {
        let batch_texts: Vec<&str> = batch.iter().map(|(_, text)| *text).collect();
        for ((at, _), vector) in batch.iter().zip(encoder.encode(&batch_texts, kind)?) {
            if let Some(slot) = vectors.get_mut(*at) {
                *slot = Some(vector);
            }
        }
        done += batch.len();
        progress(done);
    }
    Ok(vectors)
}
