//! Bytes as they lie in the database: packed where that makes them smaller.

use std::borrow::Cow;

/// Below this, packing gains nothing.
const SMALL: usize = 64;

/// Whether the bytes are packed, and the bytes.
pub(crate) fn pack(bytes: &[u8]) -> (i64, Cow<'_, [u8]>) {
    if bytes.len() < SMALL {
        return (0, Cow::Borrowed(bytes));
    }
    match zstd::bulk::compress(bytes, 3) {
        Ok(packed) if packed.len() < bytes.len() => (1, Cow::Owned(packed)),
        _ => (0, Cow::Borrowed(bytes)),
    }
}

/// The bytes again; `None` when they are damaged. `size` is what they had before.
pub(crate) fn unpack(packed: i64, bytes: Vec<u8>, size: usize) -> Option<Vec<u8>> {
    let unpacked = if packed == 0 { bytes } else { zstd::bulk::decompress(&bytes, size).ok()? };
    (unpacked.len() == size).then_some(unpacked)
}
