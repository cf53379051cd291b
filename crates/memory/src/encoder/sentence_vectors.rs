//! Sentence encoders in ONNX format, such as all-MiniLM-L6-v2.

use rten::Model;
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use super::ModelError;
use super::wordpiece::WordPiece;
use crate::script::has_cjk;
use crate::vector::{EncodeError, Encoder, TextKind, to_unit};
use crate::weights::Weights;

const EXPECTED: &str = "a sentence encoder in ONNX format";
/// How many tokens of a message and of a question are read.
const MESSAGE: usize = 112;
const QUESTION: usize = 200;

/// A sentence encoder for English: a BERT model in ONNX format whose vectors are the mean over its
/// tokens.
pub struct SentenceVectors {
    name: String,
    model: Model,
    tokenizer: WordPiece,
}

impl SentenceVectors {
    /// Loads a model and its `tokenizer.json`. The name is stored with its vectors.
    ///
    /// # Errors
    ///
    /// If one of them is not what it should be.
    pub fn load(name: &str, model: Vec<u8>, tokenizer: &[u8]) -> Result<Self, ModelError> {
        let tokenizer = WordPiece::read(tokenizer)?;
        let model = Model::load(model).map_err(|error| ModelError::new(EXPECTED, error))?;
        for input in ["input_ids", "attention_mask"] {
            model.node_id(input).map_err(|error| ModelError::new(EXPECTED, error))?;
        }
        Ok(Self { name: name.to_owned(), model, tokenizer })
    }

    /// Runs the model on tokens that are padded to the same length.
    fn run(&self, batch: &[Vec<i32>]) -> Result<Vec<Vec<f32>>, EncodeError> {
        let failed = |cause: String| EncodeError { encoder: self.name.clone(), cause };
        let longest = batch.iter().map(Vec::len).max().unwrap_or(0);
        let padded = |value: &dyn Fn(i32) -> i32| {
            let rows = batch.iter().flat_map(|tokens| {
                let padding = std::iter::repeat_n(0, longest - tokens.len());
                tokens.iter().map(|&token| value(token)).chain(padding)
            });
            NdTensor::from_data([batch.len(), longest], rows.collect::<Vec<i32>>())
        };
        let mut inputs = Vec::new();
        let tensors = [
            ("input_ids", padded(&|token| token)),
            ("attention_mask", padded(&|_| 1)),
            ("token_type_ids", padded(&|_| 0)),
        ];
        for (name, tensor) in tensors {
            // Some models have no token types.
            if let Some(input) = self.model.find_node(name) {
                inputs.push((input, tensor.into()));
            }
        }
        let first = self.model.output_ids().first().copied();
        let output = first.ok_or_else(|| failed("the model has no output".to_owned()))?;
        let computed = self.model.run(inputs, &[output], None);
        let outputs = computed.map_err(|error| failed(error.to_string()))?;
        let states: NdTensor<f32, 3> = outputs
            .into_iter()
            .next()
            .and_then(|states| states.try_into().ok())
            .ok_or_else(|| failed("the output has no vector for each token".to_owned()))?;
        let rows = batch.iter().enumerate();
        Ok(rows.map(|(row, tokens)| mean(&states, row, tokens.len())).collect())
    }
}

/// Returns the mean of the first vectors of a row, at length 1.
fn mean(states: &NdTensor<f32, 3>, row: usize, tokens: usize) -> Vec<f32> {
    let size = states.size(2);
    let mut mean = vec![0.0; size];
    for token in 0..tokens.min(states.size(1)) {
        for (at, value) in mean.iter_mut().enumerate() {
            *value += states.get([row, token, at]).copied().unwrap_or(0.0);
        }
    }
    to_unit(&mut mean);
    mean
}

impl Encoder for SentenceVectors {
    fn name(&self) -> &str {
        &self.name
    }

    fn weights(&self) -> Weights {
        Weights::SENTENCE_VECTORS
    }

    fn understands(&self, text: &str) -> bool {
        !has_cjk(text)
    }

    fn encode(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>, EncodeError> {
        let limit = match kind {
            TextKind::Message => MESSAGE,
            TextKind::Question => QUESTION,
        };
        let tokens: Vec<_> = texts.iter().map(|text| self.tokenizer.tokens(text, limit)).collect();
        if tokens.is_empty() { Ok(Vec::new()) } else { self.run(&tokens) }
    }
}

impl std::fmt::Debug for SentenceVectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SentenceVectors").field("name", &self.name).finish_non_exhaustive()
    }
}
