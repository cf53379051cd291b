//! Exact token counts for OpenAI's public vocabularies.
//!
//! A text is split into pieces ([`split`]), and each piece is one token or is merged from bytes
//! ([`merge`]). Most pieces are one token, so counting is mostly a scan and a table look-up; the
//! general regular expressions and encoders that others use spend their time elsewhere
//! (decision 0023). This module counts. It neither encodes nor decodes.

mod class;
mod merge;
mod split;
mod vocabulary;

use std::cell::RefCell;
use std::sync::LazyLock;
use std::thread::LocalKey;

use rustc_hash::FxHashMap;
use vocabulary::{NO_RANK, Vocabulary};

/// Counts of pieces that had to be merged, because texts repeat their identifiers and phrases.
type Merged = FxHashMap<Box<[u8]>, usize>;

/// The most pieces one thread remembers, and the longest of them: about a megabyte.
const MOST_MERGED: usize = 8_192;
const LONGEST_MERGED: usize = 128;

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
    /// The number of tokens of a text. Special tokens count as the text that spells them.
    pub(super) fn count(&self, text: &str) -> usize {
        self.merged.with_borrow_mut(|merged| {
            let mut rest = text;
            let mut tokens = 0;
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at((self.first_piece)(rest));
                tokens += self.piece(piece.as_bytes(), merged);
                rest = behind;
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
        if piece.len() <= LONGEST_MERGED {
            if merged.len() >= MOST_MERGED {
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

    /// An entry that cannot be read would end the vocabulary there, and every count would be too
    /// high.
    #[test]
    fn the_vocabularies_are_whole() {
        assert_eq!(O200K.vocabulary.len(), 199_998);
        assert_eq!(CL100K.vocabulary.len(), 100_256);
    }
}
