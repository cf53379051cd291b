//! The tokenizer of a SentencePiece model with unigrams: characters are normalized by the model's
//! own table, and the text is split into the pieces with the highest sum of scores.

use rustc_hash::FxHashMap;

use super::protobuf::{Value, fields};
use crate::encoder::ModelError;

const EXPECTED: &str = "a SentencePiece model (sp.model)";

/// The tokens for an unknown character and for the start and the end of a text.
const UNKNOWN: u32 = 0;
const START: u32 = 1;
const END: u32 = 2;

/// How much lower the score of an unknown character is than that of any piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The character that represents a space.
const SPACE: char = '▁';

/// The parts of the model file.
const PIECE: u64 = 1;
const NORMALIZER: u64 = 3;
/// The parts of a piece.
const PIECE_TEXT: u64 = 1;
const PIECE_SCORE: u64 = 2;
/// The table of the normalizer.
const CHARACTER_MAP: u64 = 2;

/// A vocabulary of pieces with their scores.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: FxHashMap<Box<str>, (u32, f32)>,
    /// Maximum number of characters of a piece.
    longest: usize,
    unknown_score: f32,
    characters: CharacterMap,
}

impl Pieces {
    /// Reads a model file.
    pub(super) fn read(model: &[u8]) -> Result<Self, ModelError> {
        let bad = |cause: &str| ModelError::new(EXPECTED, cause);
        let mut pieces = FxHashMap::default();
        let mut characters = CharacterMap::default();
        let mut lowest = 0.0_f32;
        let mut longest = 0;
        let mut next = 0;
        for (field, value) in fields(model).ok_or_else(|| bad("it is not a protocol buffer"))? {
            match (field, value) {
                (PIECE, Value::Bytes(piece)) => {
                    let (text, score) = piece_of(piece).ok_or_else(|| bad("a piece is broken"))?;
                    lowest = lowest.min(score);
                    longest = longest.max(text.chars().count());
                    pieces.insert(Box::from(text), (next, score));
                    next += 1;
                }
                (NORMALIZER, Value::Bytes(normalizer)) => {
                    characters = CharacterMap::of(normalizer)
                        .ok_or_else(|| bad("the table of characters is broken"))?;
                }
                _ => {}
            }
        }
        if pieces.is_empty() {
            return Err(bad("it has no pieces"));
        }
        Ok(Self { pieces, longest, unknown_score: lowest - UNKNOWN_PENALTY, characters })
    }

    /// Returns the tokens of a text, at most `limit` with those for start and end.
    pub(super) fn tokens(&self, text: &str, limit: usize) -> Vec<u32> {
        let mut tokens = vec![START];
        let normalized: Vec<char> = self.normalized(text).chars().collect();
        match normalized.is_empty() {
            true => tokens.push(UNKNOWN),
            false => tokens.extend(self.best_split(&normalized)),
        }
        tokens.truncate(limit.saturating_sub(1));
        tokens.push(END);
        tokens
    }

    /// Returns a text with its characters replaced, a space in front, and single spaces elsewhere.
    fn normalized(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((replaced, after)) = self.characters.replace(rest) {
            rest = after;
            for character in replaced.chars() {
                match character {
                    ' ' if out.is_empty() || out.ends_with(SPACE) => {}
                    ' ' => out.push(SPACE),
                    other => {
                        if out.is_empty() {
                            out.push(SPACE);
                        }
                        out.push(other);
                    }
                }
            }
        }
        out.truncate(out.trim_end_matches(SPACE).len());
        out
    }

    /// Returns the tokens of the split with the highest score.
    fn best_split(&self, text: &[char]) -> Vec<u32> {
        // The best split that ends at each position: its score, and the last token with its start.
        let mut best = vec![(f32::NEG_INFINITY, UNKNOWN, 0); text.len() + 1];
        if let Some(first) = best.first_mut() {
            first.0 = 0.0;
        }
        let mut piece = String::new();
        for start in 0..text.len() {
            let base = best.get(start).map_or(0.0, |(score, ..)| *score);
            let mut offer = |end: usize, token: u32, score: f32| {
                if let Some(known) = best.get_mut(end).filter(|known| base + score > known.0) {
                    *known = (base + score, token, start);
                }
            };
            piece.clear();
            let mut has_single = false;
            for (at, character) in text.iter().skip(start).take(self.longest).enumerate() {
                piece.push(*character);
                if let Some(&(token, score)) = self.pieces.get(piece.as_str()) {
                    offer(start + at + 1, token, score);
                    has_single |= at == 0;
                }
            }
            if !has_single {
                offer(start + 1, UNKNOWN, self.unknown_score);
            }
        }
        let mut tokens = Vec::new();
        let mut end = text.len();
        while let Some(&(_, token, start)) = best.get(end).filter(|_| end > 0) {
            tokens.push(token);
            end = start;
        }
        tokens.reverse();
        tokens
    }
}

/// Returns the text and the score of a piece.
fn piece_of(piece: &[u8]) -> Option<(&str, f32)> {
    let mut text = None;
    let mut score = 0.0;
    for (field, value) in fields(piece)? {
        match (field, value) {
            (PIECE_TEXT, Value::Bytes(bytes)) => text = Some(std::str::from_utf8(bytes).ok()?),
            (PIECE_SCORE, Value::Fixed32(bytes)) => score = f32::from_le_bytes(bytes),
            _ => {}
        }
    }
    Some((text?, score))
}

/// Replacements of characters: a double-array trie (darts-clone) over their bytes, whose values are
/// positions in a list of texts, each ended by a zero.
#[derive(Debug, Default)]
struct CharacterMap {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl CharacterMap {
    /// Reads the table of a normalizer. A normalizer without one replaces nothing.
    fn of(normalizer: &[u8]) -> Option<Self> {
        let table = fields(normalizer)?.into_iter().find_map(|field| match field {
            (CHARACTER_MAP, Value::Bytes(table)) => Some(table),
            _ => None,
        });
        let Some(table) = table else { return Some(Self::default()) };
        let (size, rest) = table.split_first_chunk::<4>()?;
        let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
        let (trie, texts) = rest.split_at_checked(size)?;
        let units = trie.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Some(Self { units, texts: texts.to_vec() })
    }

    /// Returns the replacement of the longest known start of a text, or its first character, and
    /// the rest of the text.
    fn replace<'a>(&'a self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let first = text.chars().next()?;
        let found = self.longest(text.as_bytes()).and_then(|(length, value)| {
            let replacement = self.texts.get(value..)?.split(|&byte| byte == 0).next()?;
            Some((std::str::from_utf8(replacement).ok()?, text.get(length..)?))
        });
        found.or_else(|| text.split_at_checked(first.len_utf8()))
    }

    /// Returns the length and the value of the longest start that the trie has.
    fn longest(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let mut node = children(*self.units.first()?);
        let mut longest = None;
        for (at, &byte) in bytes.iter().enumerate() {
            node ^= usize::from(byte);
            let unit = self.units.get(node).copied()?;
            if unit & 0x8000_00ff != u32::from(byte) {
                break;
            }
            node ^= children(unit);
            if unit & 0x100 != 0 {
                let value = self.units.get(node)? & 0x7fff_ffff;
                longest = Some((at + 1, value as usize));
            }
        }
        longest
    }
}

/// Returns where the children of a node are, relative to it.
const fn children(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a model file with these pieces; the first three are for unknown, start and end.
    pub(crate) fn model(pieces: &[(&str, f32)]) -> Vec<u8> {
        let length = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap();
        let mut out = Vec::new();
        for (text, score) in [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)].iter().chain(pieces) {
            let mut piece = vec![0x0a, length(text.as_bytes())];
            piece.extend(text.bytes());
            piece.push(0x15);
            piece.extend(score.to_le_bytes());
            out.extend([0x0a, length(&piece)]);
            out.extend(piece);
        }
        out
    }

    #[test]
    fn the_split_with_the_highest_score_is_chosen() {
        let pieces = [
            ("▁", -3.0),
            ("▁new", -2.0),
            ("▁news", -2.5),
            ("s", -2.0),
            ("paper", -4.0),
            ("新闻", -3.0),
        ];
        let pieces = Pieces::read(&model(&pieces)).unwrap();
        assert_eq!(pieces.tokens("newspaper", 20), [1, 5, 7, 2]);
        assert_eq!(pieces.tokens("  new   new ", 20), [1, 4, 4, 2]);
        assert_eq!(pieces.tokens("新闻x", 20), [1, 3, 8, 0, 2]);
        assert_eq!(pieces.tokens("", 20), [1, 0, 2]);
        assert_eq!(pieces.tokens("new new new", 3), [1, 4, 2]);
        assert!(Pieces::read(b"").is_err() && Pieces::read(b"text").is_err());
    }

    #[test]
    fn characters_are_replaced_by_the_table() {
        // A trie with one key, the byte `A`: the root, its child at 65 ^ 1, and the child's value.
        let mut units = vec![0_u32; 80];
        units[0] = 1 << 10;
        let child = 1 ^ usize::from(b'A');
        units[child] = u32::from(b'A') | 0x100 | 2 << 10;
        units[child ^ 2] = 0x8000_0000 | 3;
        let map = CharacterMap { units, texts: b"xx\0a\0".to_vec() };
        assert_eq!(map.replace("AB"), Some(("a", "B")));
        assert_eq!(map.replace("B"), Some(("B", "")));
        assert_eq!(map.replace("é!"), Some(("é", "!")));
        assert_eq!(map.replace(""), None);
    }
}
