//! Byte pair merging: counts the tokens of a piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::vocabulary::{NO_RANK, Vocabulary};

/// Pieces up to this many bytes are merged by scanning all pairs each time, which is faster for
/// them. Longer ones (base64, a Chinese paragraph) are merged with a heap in O(n log n).
const SHORT: usize = 48;

/// Returns the number of tokens of a piece that is not a token itself.
pub(super) fn count(piece: &[u8], vocabulary: &Vocabulary) -> usize {
    if piece.len() <= SHORT { short(piece, vocabulary) } else { long(piece, vocabulary) }
}

/// Merges the pair with the lowest rank, leftmost first, until no pair is a token.
fn short(piece: &[u8], vocabulary: &Vocabulary) -> usize {
    // The start of each part, and the rank of the pair that it forms with the next part.
    let mut starts = [0u8; SHORT + 1];
    let mut ranks = [NO_RANK; SHORT + 1];
    let mut parts = piece.len();
    for (at, start) in starts.iter_mut().enumerate().take(parts + 1) {
        #[expect(clippy::cast_possible_truncation, reason = "a short piece")]
        {
            *start = at as u8;
        }
    }
    let start = |starts: &[u8], at: usize| starts.get(at).map(|&start| usize::from(start));
    let pair = |starts: &[u8; SHORT + 1], at: usize, parts: usize| -> u32 {
        if at + 2 > parts {
            return NO_RANK;
        }
        let bytes =
            start(starts, at).zip(start(starts, at + 2)).and_then(|(from, to)| piece.get(from..to));
        bytes.map_or(NO_RANK, |bytes| vocabulary.rank(bytes))
    };
    for at in 0..parts {
        let rank = pair(&starts, at, parts);
        if let Some(slot) = ranks.get_mut(at) {
            *slot = rank;
        }
    }
    loop {
        // Two passes, because the compiler turns each into a few vector instructions.
        let live = ranks.get(..parts).unwrap_or_default();
        let lowest = live.iter().copied().min().unwrap_or(NO_RANK);
        let found = live.iter().position(|&rank| rank == lowest);
        let Some(at) = found.filter(|_| lowest != NO_RANK) else { return parts };
        starts.copy_within(at + 2..=parts, at + 1);
        ranks.copy_within(at + 2..=parts, at + 1);
        parts -= 1;
        for changed in [Some(at), at.checked_sub(1)].into_iter().flatten() {
            let rank = pair(&starts, changed, parts);
            if let Some(slot) = ranks.get_mut(changed) {
                *slot = rank;
            }
        }
    }
}

/// A part of a long piece, in a list by position.
#[derive(Clone, Copy)]
struct Part {
    end: usize,
    previous: usize,
    /// The rank of the pair that it forms with the next part. A heap entry with another rank is
    /// stale.
    rank: u32,
}

const GONE: u32 = NO_RANK - 1;

/// Merges with the pairs in a heap. A part is identified by its start.
fn long(piece: &[u8], vocabulary: &Vocabulary) -> usize {
    let mut parts: Vec<Part> = (0..piece.len())
        .map(|at| Part { end: at + 1, previous: at.wrapping_sub(1), rank: NO_RANK })
        .collect();
    let mut heap = BinaryHeap::with_capacity(piece.len());
    let mut left = parts.len();
    for at in 0..piece.len() {
        update_rank(piece, vocabulary, &mut parts, &mut heap, at);
    }
    while let Some(Reverse((rank, at))) = heap.pop() {
        let Some(part) = parts.get(at).copied().filter(|part| part.rank == rank) else { continue };
        let Some(next) = parts.get_mut(part.end) else { continue };
        let end = next.end;
        next.rank = GONE;
        if let Some(after) = parts.get_mut(end) {
            after.previous = at;
        }
        if let Some(part) = parts.get_mut(at) {
            part.end = end;
        }
        left -= 1;
        update_rank(piece, vocabulary, &mut parts, &mut heap, at);
        if part.previous < at {
            update_rank(piece, vocabulary, &mut parts, &mut heap, part.previous);
        }
    }
    left
}

/// Looks up the rank of the pair that starts with a part.
fn update_rank(
    piece: &[u8],
    vocabulary: &Vocabulary,
    parts: &mut [Part],
    heap: &mut BinaryHeap<Reverse<(u32, usize)>>,
    at: usize,
) {
    let end = parts.get(at).and_then(|part| parts.get(part.end)).map(|next| next.end);
    let bytes = end.and_then(|end| piece.get(at..end));
    let rank = bytes.map_or(NO_RANK, |bytes| vocabulary.rank(bytes));
    if let Some(part) = parts.get_mut(at) {
        part.rank = rank;
    }
    if rank != NO_RANK {
        heap.push(Reverse((rank, at)));
    }
}
