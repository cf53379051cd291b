//! Fields of a protocol buffer, as far as model files need them.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A text, bytes, or a message.
    Bytes(&'a [u8]),
    /// Four bytes, such as a float.
    Fixed32([u8; 4]),
    /// A value of another type.
    Other,
}

/// Returns the fields of a message in order, or `None` if it is not one.
pub(super) fn fields(mut message: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let (tag, rest) = number(message)?;
        let (value, rest) = match tag & 7 {
            0 => (Value::Other, number(rest)?.1),
            1 => (Value::Other, rest.get(8..)?),
            2 => {
                let (size, rest) = number(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            5 => {
                let (bytes, rest) = rest.split_first_chunk::<4>()?;
                (Value::Fixed32(*bytes), rest)
            }
            _ => return None,
        };
        fields.push((tag >> 3, value));
        message = rest;
    }
    Some(fields)
}

/// Reads a number of variable length.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut sum = 0;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        sum |= u64::from(byte & 0x7f).checked_shl(7 * u32::try_from(at).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((sum, bytes.get(at + 1..)?));
        }
    }
    None
}
