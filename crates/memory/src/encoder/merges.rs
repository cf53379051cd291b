//! The tokenizer of word vectors with a Llama vocabulary: characters are merged in a fixed order of
//! pairs.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::ModelError;

const EXPECTED: &str = "a byte-pair tokenizer (tokenizer.json)";

/// A longer word is merged in parts, because the time grows with its square.
const LONGEST_WORD: usize = 64;

/// A byte-pair vocabulary.
#[derive(Debug)]
pub(super) struct Merges {
    vocabulary: FxHashMap<String, u32>,
    /// The order in which pairs are merged.
    ranks: FxHashMap<String, usize>,
}

#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: FxHashMap<String, u32>,
    merges: Vec<String>,
}

impl Merges {
    /// Reads a `tokenizer.json`.
    pub(super) fn read(json: &[u8]) -> Result<Self, ModelError> {
        let file: File =
            serde_json::from_slice(json).map_err(|error| ModelError::new(EXPECTED, error))?;
        let ranks = file.model.merges.into_iter().enumerate().map(|(at, pair)| (pair, at));
        Ok(Self { ranks: ranks.collect(), vocabulary: file.model.vocab })
    }

    /// Returns the tokens of a text. Merges never cross a space in this vocabulary, so each word is
    /// merged by itself.
    pub(super) fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        for word in text.split(' ') {
            let letters: Vec<char> = std::iter::once('▁').chain(word.chars()).collect();
            for letters in letters.chunks(LONGEST_WORD) {
                self.merge(letters, &mut tokens);
            }
        }
        tokens
    }

    fn merge(&self, letters: &[char], tokens: &mut Vec<u32>) {
        let mut pieces: Vec<String> = letters.iter().map(char::to_string).collect();
        let rank = |pair: &[String]| match pair {
            [one, other] => self.ranks.get(&format!("{one} {other}")).copied(),
            _ => None,
        };
        // Words are short, so looking at all pairs again is cheap.
        while let Some((_, at)) =
            pieces.windows(2).enumerate().filter_map(|(at, pair)| Some((rank(pair)?, at))).min()
        {
            let second = pieces.remove(at + 1);
            if let Some(first) = pieces.get_mut(at) {
                first.push_str(&second);
            }
        }
        for piece in pieces {
            match self.vocabulary.get(&piece) {
                Some(id) => tokens.push(*id),
                // A character that the vocabulary does not have is spelled in bytes.
                None => {
                    tokens.extend(piece.bytes().filter_map(|byte| {
                        self.vocabulary.get(&format!("<0x{byte:02X}>")).copied()
                    }))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_merged_in_their_order() {
        let json = concat!(
            r#"{"model":{"vocab":{"▁":0,"t":1,"e":2,"a":3,"▁t":4,"ea":5,"▁tea":6,"<0xC3>":7,"#,
            r#""<0xA9>":8},"merges":["e a","▁ t","▁t ea"]}}"#
        );
        let tokenizer = Merges::read(json.as_bytes()).unwrap();
        assert_eq!(tokenizer.tokens("tea te"), [6, 4, 2]);
        assert_eq!(tokenizer.tokens("é"), [0, 7, 8]);
        assert!(Merges::read(b"{}").is_err());
    }
}
