//! Compression of stored bytes with zstd, if that makes them smaller.

use std::borrow::Cow;
use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

/// Shorter input is stored as it is: compression would not make it smaller.
const MIN_SIZE: usize = 64;

thread_local! {
    // Creating one costs more than compressing a short message with it.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(3).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> =
        RefCell::new(Decompressor::new().ok());
}

/// Compresses bytes. Returns 1 and the compressed bytes, or 0 and the original bytes.
pub(crate) fn compress(bytes: &[u8]) -> (i64, Cow<'_, [u8]>) {
    if bytes.len() < MIN_SIZE {
        return (0, Cow::Borrowed(bytes));
    }
    match COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(bytes).ok()) {
        Some(compressed) if compressed.len() < bytes.len() => (1, Cow::Owned(compressed)),
        _ => (0, Cow::Borrowed(bytes)),
    }
}

/// Restores bytes from the result of [`compress`], whose original size was `size`; `None` if they
/// are damaged.
pub(crate) fn decompress(compressed: i64, bytes: Vec<u8>, size: usize) -> Option<Vec<u8>> {
    let decompressed = match compressed {
        0 => bytes,
        _ => DECOMPRESSOR
            .with_borrow_mut(|decompressor| decompressor.as_mut()?.decompress(&bytes, size).ok())?,
    };
    (decompressed.len() == size).then_some(decompressed)
}
