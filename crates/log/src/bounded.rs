//! Reads input of unknown size within limits, so that a stream without end is an error and does not
//! fill the memory.

use std::io::{self, BufRead, ErrorKind, Read as _};

/// Maximum number of bytes of a line, and of anything else that is read at once.
pub const MAX_INPUT_BYTES: usize = 512 << 20;

/// Why input was not read. The functions of this module return it in an [`io::Error`].
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{} larger than {megabytes} MB", if *is_line { "a line is" } else { "the input is" })]
#[non_exhaustive]
pub struct TooLarge {
    /// Whether only a line is too large, not the whole input.
    pub is_line: bool,
    /// Maximum number of bytes that are read.
    pub megabytes: usize,
}

/// Reads a line, including its end, and returns its length; 0 at the end of the input.
///
/// # Errors
/// If the line is longer than [`MAX_INPUT_BYTES`], or the input cannot be read.
pub fn read_line(reader: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let length = reader.take(limit(MAX_INPUT_BYTES)).read_until(b'\n', line)?;
    within(length, MAX_INPUT_BYTES, true)?;
    Ok(length)
}

/// Reads the whole input of at most `most` bytes.
///
/// # Errors
/// If the input is longer, or cannot be read.
pub fn read_all(reader: &mut dyn io::Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = reader.take(limit(most)).read_to_end(&mut bytes)?;
    within(length, most, false)?;
    Ok(bytes)
}

fn limit(most: usize) -> u64 {
    (most as u64).saturating_add(1)
}

fn within(length: usize, most: usize, is_line: bool) -> io::Result<()> {
    if length <= most {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidData, TooLarge { is_line, megabytes: most >> 20 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_without_an_end_is_an_error() {
        let mut endless = io::repeat(b'a');
        let error = read_all(&mut endless, 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "the input is larger than 1 MB");
        assert_eq!(read_all(&mut b"abc".as_slice(), 3).unwrap(), b"abc");
        let mut lines = b"one\ntwo".as_slice();
        let mut line = Vec::new();
        assert_eq!(
            (read_line(&mut lines, &mut line).unwrap(), line.as_slice()),
            (4, &b"one\n"[..])
        );
    }
}
