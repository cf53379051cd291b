//! Exact token counts for OpenAI's public vocabularies.
//!
//! A text is split into pieces ([`split`]), and each piece is one token or is merged from bytes
//! ([`merge`]). Most pieces are one token, so counting is mostly a scan and a table lookup, which
//! is faster than regular expressions and a general encoder (decision 0023). This module counts; it
//! neither encodes nor decodes.

mod class;
mod merge;
mod split;
mod vocabulary;

use std::cell::RefCell;
use std::sync::LazyLock;
use std::thread::LocalKey;

use rustc_hash::FxHashMap;
use vocabulary::{NO_RANK, Vocabulary};

/// Cached counts of merged pieces, because texts repeat their identifiers and phrases.
type Merged = FxHashMap<Box<[u8]>, usize>;

/// Maximum number of pieces in the cache of a thread, which takes about a megabyte.
const MAX_CACHED: usize = 8_192;

/// Maximum number of bytes of a cached piece.
const MAX_CACHED_LENGTH: usize = 128;

thread_local! {
    static MERGED_O200K: RefCell<Merged> = RefCell::default();
    static MERGED_CL100K: RefCell<Merged> = RefCell::default();
}

/// A vocabulary and the rule by which its texts are split.
pub(super) struct Encoding {
    vocabulary: Vocabulary,
    first_piece: fn(&str) -> usize,
    merged: &'static LocalKey<RefCell<Merged>>,
}

/// The encoding of GPT-4o and later models.
pub(super) static O200K: LazyLock<Encoding> = LazyLock::new(|| Encoding {
    vocabulary: Vocabulary::read(splintr_vocab_o200k::O200K_BASE_VOCAB_PACKED),
    first_piece: split::o200k,
    merged: &MERGED_O200K,
});

/// The encoding of GPT-4 and GPT-3.5.
pub(super) static CL100K: LazyLock<Encoding> = LazyLock::new(|| Encoding {
    vocabulary: Vocabulary::read(splintr_vocab_cl100k::CL100K_BASE_VOCAB_PACKED),
    first_piece: split::cl100k,
    merged: &MERGED_CL100K,
});

impl Encoding {
    /// Returns the number of tokens of a text. Special tokens count as plain text.
    pub(super) fn count(&self, text: &str) -> usize {
        self.merged.with_borrow_mut(|merged| {
            let mut rest = text;
            let mut tokens = 0;
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((self.first_piece)(rest));
                tokens += self.piece(piece.as_bytes(), merged);
                rest = after;
            }
            tokens
        })
    }

    #[inline]
    fn piece(&self, piece: &[u8], merged: &mut Merged) -> usize {
        if self.vocabulary.rank(piece) != NO_RANK {
            return 1;
        }
        if let Some(&count) = merged.get(piece) {
            return count;
        }
        let count = merge::count(piece, &self.vocabulary);
        if piece.len() <= MAX_CACHED_LENGTH {
            if merged.len() >= MAX_CACHED {
                merged.clear();
            }
            merged.insert(piece.into(), count);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry that cannot be parsed would end the vocabulary, and every count would be too high.
    #[test]
    fn the_vocabularies_are_complete() {
        assert_eq!(O200K.vocabulary.len(), 199_998);
        assert_eq!(CL100K.vocabulary.len(), 100_256);
    }
}
