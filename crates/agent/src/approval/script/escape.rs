//! Escapes in `$'…'`.

use std::str::Chars;

/// Returns the character that an escape stands for. The backslash has been read.
pub(super) fn decode(rest: &mut Chars<'_>) -> Option<char> {
    let c = rest.next()?;
    Some(match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => number(rest, 0, 16, 2).unwrap_or(c),
        'u' => number(rest, 0, 16, 4).unwrap_or(c),
        'U' => number(rest, 0, 16, 8).unwrap_or(c),
        '0'..='7' => number(rest, c.to_digit(8).unwrap_or_default(), 8, 2).unwrap_or(c),
        _ => c,
    })
}

/// Reads at most `most` digits after a first value. Returns `None` if there are none, or if no
/// character has that number.
fn number(rest: &mut Chars<'_>, first: u32, base: u32, most: usize) -> Option<char> {
    let digits = rest.clone().take(most).map_while(|c| c.to_digit(base));
    let (count, value) = digits.fold((0, first), |(count, value): (usize, u32), digit| {
        (count + 1, value.wrapping_mul(base).wrapping_add(digit))
    });
    if count == 0 && base == 16 {
        return None;
    }
    for _ in 0..count {
        rest.next();
    }
    char::from_u32(value)
}
