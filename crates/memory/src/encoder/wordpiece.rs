//! The tokenizer of BERT models: lower case without accents, words split at punctuation, then the
//! longest known pieces.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use super::ModelError;

const EXPECTED: &str = "a WordPiece tokenizer (tokenizer.json)";
/// A longer word is unknown.
const LONGEST_WORD: usize = 100;

/// A WordPiece vocabulary.
#[derive(Debug)]
pub(super) struct WordPiece {
    vocabulary: FxHashMap<String, i32>,
    start: i32,
    end: i32,
    unknown: i32,
}

#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: FxHashMap<String, i32>,
}

impl WordPiece {
    /// Reads a `tokenizer.json`.
    pub(super) fn read(json: &[u8]) -> Result<Self, ModelError> {
        let file: File =
            serde_json::from_slice(json).map_err(|error| ModelError::new(EXPECTED, error))?;
        let vocabulary = file.model.vocab;
        let special = |name: &str| {
            let id = vocabulary.get(name).copied();
            id.ok_or_else(|| ModelError::new(EXPECTED, format!("it has no {name}")))
        };
        let start = special("[CLS]")?;
        let end = special("[SEP]")?;
        let unknown = special("[UNK]")?;
        Ok(Self { vocabulary, start, end, unknown })
    }

    /// Returns the tokens of a text, at most `limit` with the marks of start and end.
    pub(super) fn tokens(&self, text: &str, limit: usize) -> Vec<i32> {
        let mut tokens = vec![self.start];
        for word in words(text) {
            if tokens.len() >= limit {
                break;
            }
            self.pieces(&word, &mut tokens);
        }
        tokens.truncate(limit.saturating_sub(1));
        tokens.push(self.end);
        tokens
    }

    fn pieces(&self, word: &str, tokens: &mut Vec<i32>) {
        let before = tokens.len();
        let mut rest = word;
        let mut is_known = word.chars().nth(LONGEST_WORD).is_none();
        while is_known && !rest.is_empty() {
            let prefix = if rest.len() < word.len() { "##" } else { "" };
            let ends = rest.char_indices().map(|(at, first)| at + first.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                let (piece, after) = rest.split_at_checked(end)?;
                Some((*self.vocabulary.get(&format!("{prefix}{piece}"))?, after))
            });
            match longest {
                Some((id, after)) => {
                    tokens.push(id);
                    rest = after;
                }
                None => is_known = false,
            }
        }
        if !is_known {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
    }
}

/// Returns the words and the marks of punctuation.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let lower = text.to_lowercase();
    let letters = lower.nfd();
    for letter in letters.filter(|&letter| !is_dropped(letter)) {
        if letter.is_whitespace() {
            words.push(std::mem::take(&mut word));
        } else if is_punctuation(letter) || is_ideograph(letter) {
            words.push(std::mem::take(&mut word));
            words.push(letter.to_string());
        } else {
            word.push(letter);
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a character is an accent or is invisible.
fn is_dropped(character: char) -> bool {
    let category = get_general_category(character);
    let is_control = matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    );
    category == GeneralCategory::NonspacingMark
        || character == '\u{fffd}'
        || is_control && !character.is_whitespace()
}

fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation()
        || matches!(
            get_general_category(character),
            GeneralCategory::ConnectorPunctuation
                | GeneralCategory::DashPunctuation
                | GeneralCategory::OpenPunctuation
                | GeneralCategory::ClosePunctuation
                | GeneralCategory::InitialPunctuation
                | GeneralCategory::FinalPunctuation
                | GeneralCategory::OtherPunctuation
        )
}

const fn is_ideograph(character: char) -> bool {
    matches!(
        character,
        '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{2ceaf}'
            | '\u{2f800}'..='\u{2fa1f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_their_longest_pieces() {
        let json = concat!(
            r###"{"model":{"vocab":{"[CLS]":0,"[SEP]":1,"[UNK]":2,"cafe":3,"run":4,"##ning":5,"###,
            r###""!":6,"我":7}}}"###
        );
        let tokenizer = WordPiece::read(json.as_bytes()).unwrap();
        assert_eq!(tokenizer.tokens("Café running!", 10), [0, 3, 4, 5, 6, 1]);
        assert_eq!(tokenizer.tokens("我run xyz", 10), [0, 7, 4, 2, 1]);
        assert_eq!(tokenizer.tokens("run run run", 3), [0, 4, 1]);
        assert!(WordPiece::read(b"{}").is_err());
    }
}
