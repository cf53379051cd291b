//! Bytes as they lie in the database: packed where that makes them smaller.

use std::borrow::Cow;
use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

/// Below this, packing gains nothing.
const SMALL: usize = 64;

thread_local! {
    // Making one costs more than packing a short message with it.
    static PACKER: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(3).ok());
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = RefCell::new(Decompressor::new().ok());
}

/// Whether the bytes are packed, and the bytes.
pub(crate) fn pack(bytes: &[u8]) -> (i64, Cow<'_, [u8]>) {
    if bytes.len() < SMALL {
        return (0, Cow::Borrowed(bytes));
    }
    match PACKER.with_borrow_mut(|packer| packer.as_mut()?.compress(bytes).ok()) {
        Some(packed) if packed.len() < bytes.len() => (1, Cow::Owned(packed)),
        _ => (0, Cow::Borrowed(bytes)),
    }
}

/// The bytes again; `None` when they are damaged. `size` is what they had before.
pub(crate) fn unpack(packed: i64, bytes: Vec<u8>, size: usize) -> Option<Vec<u8>> {
    let unpacked = match packed {
        0 => bytes,
        _ => {
            UNPACKER.with_borrow_mut(|unpacker| unpacker.as_mut()?.decompress(&bytes, size).ok())?
        }
    };
    (unpacked.len() == size).then_some(unpacked)
}
