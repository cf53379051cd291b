//! A vocabulary: the byte strings that are tokens, and the order in which they are merged.

use rustc_hash::FxHashMap;

const MAGIC: &[u8] = b"SPLNTRV1";

/// The rank of bytes that are not a token.
pub(super) const NO_RANK: u32 = u32::MAX;

/// The tokens of a vocabulary with their ranks: a lower rank is merged earlier.
pub(super) struct Vocabulary {
    ranks: FxHashMap<&'static [u8], u32>,
    /// The ranks of all pairs of bytes. Every merge starts with these, so they are not hashed.
    pairs: Vec<u32>,
}

impl Vocabulary {
    /// Parses a packed vocabulary: magic bytes, the number of entries, then for each entry its rank
    /// and its length as LEB128, and its bytes.
    ///
    /// The data is compiled in and a test counts its entries, so an invalid entry only ends the
    /// list.
    pub(super) fn read(packed: &'static [u8]) -> Self {
        let mut vocabulary = Self { ranks: FxHashMap::default(), pairs: vec![NO_RANK; 1 << 16] };
        let header = packed.strip_prefix(MAGIC).and_then(<[u8]>::split_first_chunk::<4>);
        let Some((count, mut rest)) = header else { return vocabulary };
        vocabulary.ranks.reserve(u32::from_le_bytes(*count) as usize);
        while let Some((rank, after_rank)) = number(rest)
            && let Some((length, after_length)) = number(after_rank)
            && let Some((token, after_token)) = after_length.split_at_checked(length as usize)
        {
            vocabulary.ranks.insert(token, rank);
            if let [first, second] = token
                && let Some(pair) = vocabulary.pairs.get_mut(index(*first, *second))
            {
                *pair = rank;
            }
            rest = after_token;
        }
        vocabulary
    }

    /// Returns the rank of a token, or [`NO_RANK`].
    #[inline]
    pub(super) fn rank(&self, bytes: &[u8]) -> u32 {
        if let [first, second] = bytes {
            return self.pairs.get(index(*first, *second)).copied().unwrap_or(NO_RANK);
        }
        self.ranks.get(bytes).copied().unwrap_or(NO_RANK)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ranks.len()
    }
}

fn index(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

/// Parses a number in LEB128: seven bits per byte, low bits first.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u32::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}
