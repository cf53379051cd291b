//! Static word vectors, such as WordLlama: the vector of a text is the mean of those of its tokens.
//! They are cheap to compute and capture less meaning than sentence vectors.

use serde::Deserialize;

use super::ModelError;
use super::merges::Merges;
use crate::script::has_cjk;
use crate::vector::{EncodeError, Encoder, TextKind, to_unit};
use crate::weights::Weights;

const EXPECTED: &str = "a table of word vectors (safetensors with embedding.weight in F16)";
/// The name of the table in the file.
const TABLE: &str = "embedding.weight";

/// A table with a vector for each token.
pub struct WordVectors {
    name: String,
    tokenizer: Merges,
    /// The numbers of all vectors in half precision, as in the file.
    values: Vec<u8>,
    /// The dimension of a vector.
    size: usize,
}

#[derive(Deserialize)]
struct Header {
    dtype: String,
    shape: [usize; 2],
    data_offsets: [usize; 2],
}

impl WordVectors {
    /// Loads a table in the safetensors format and its `tokenizer.json`. The name is stored with
    /// its vectors.
    ///
    /// # Errors
    ///
    /// If one of them is not what it should be.
    pub fn load(name: &str, table: &[u8], tokenizer: &[u8]) -> Result<Self, ModelError> {
        let tokenizer = Merges::read(tokenizer)?;
        let short = || ModelError::new(EXPECTED, "the file is too short");
        let (prefix, rest) = table.split_at_checked(8).ok_or_else(short)?;
        let number = prefix.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let length = usize::try_from(number).map_err(|_| short())?;
        let (json, data) = rest.split_at_checked(length).ok_or_else(short)?;
        let tables: serde_json::Value =
            serde_json::from_slice(json).map_err(|error| ModelError::new(EXPECTED, error))?;
        let header: Header = serde_json::from_value(tables.get(TABLE).cloned().unwrap_or_default())
            .map_err(|error| ModelError::new(EXPECTED, error))?;
        let [rows, size] = header.shape;
        let [start, end] = header.data_offsets;
        let bytes = rows.checked_mul(size).and_then(|count| count.checked_mul(2));
        let values = data.get(start..end).ok_or_else(short)?.to_vec();
        if header.dtype != "F16" || bytes != Some(values.len()) {
            return Err(ModelError::new(EXPECTED, "the numbers have another type or size"));
        }
        Ok(Self { name: name.to_owned(), tokenizer, values, size })
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.size];
        for token in self.tokenizer.tokens(text) {
            let start = token as usize * self.size * 2;
            let row = self.values.get(start..start + self.size * 2).unwrap_or_default();
            for (sum, bytes) in sum.iter_mut().zip(row.as_chunks::<2>().0) {
                *sum += half(u16::from_le_bytes(*bytes));
            }
        }
        to_unit(&mut sum);
        sum
    }
}

/// Converts a number in half precision.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * 2_f32.powi(-24),
        exponent => sign * (1.0 + fraction / 1_024.0) * 2_f32.powi(exponent - 15),
    }
}

impl Encoder for WordVectors {
    fn name(&self) -> &str {
        &self.name
    }

    fn weights(&self) -> Weights {
        Weights::WORD_VECTORS
    }

    fn understands(&self, text: &str) -> bool {
        !has_cjk(text)
    }

    fn encode(&self, texts: &[&str], _: TextKind) -> Result<Vec<Vec<f32>>, EncodeError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

impl std::fmt::Debug for WordVectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordVectors").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_converted() {
        let pairs = [(0x0000, 0.0), (0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95)];
        for (bits, value) in pairs {
            assert_eq!(half(bits), value, "{bits:04x}");
        }
        assert_eq!(half(0x0001), 2_f32.powi(-24));
    }

    #[test]
    fn a_text_is_the_mean_of_its_tokens() {
        let tokenizer = r#"{"model":{"vocab":{"▁a":0,"▁b":1},"merges":["▁ a","▁ b"]}}"#;
        let header = r#"{"embedding.weight":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}"#;
        let mut table = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
        table.extend(header.bytes());
        // (1, 0) and (0, 1).
        table.extend([0x00, 0x3c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3c]);
        let words = WordVectors::load("test", &table, tokenizer.as_bytes()).unwrap();
        let vectors = words.encode(&["a", "a b", "zzz"], TextKind::Message).unwrap();
        let half = 0.5_f32.sqrt();
        assert_eq!(vectors, [vec![1.0, 0.0], vec![half, half], vec![0.0, 0.0]]);
        assert!(WordVectors::load("test", &table[..40], tokenizer.as_bytes()).is_err());
    }
}
