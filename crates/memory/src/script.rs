//! Chinese, Japanese and Korean characters, which are written without spaces, and the size of a
//! text that may contain them.

/// Characters of such a script that count as one word.
const CHARACTERS_PER_WORD: f64 = 2.5;

/// Whether a character belongs to a script that is written without spaces between words.
pub(crate) const fn is_cjk(character: char) -> bool {
    matches!(
        character,
        '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ac00}'..='\u{d7af}'
    )
}

/// Whether a text has a character of such a script.
#[must_use]
pub fn has_cjk(text: &str) -> bool {
    text.chars().any(is_cjk)
}

/// Returns the number of words in a text.
#[expect(clippy::cast_precision_loss, reason = "texts have fewer than 2^52 characters")]
pub(crate) fn words(text: &str) -> f64 {
    let cjk = text.chars().filter(|&character| is_cjk(character)).count();
    (text.split_whitespace().count() as f64).max(cjk as f64 / CHARACTERS_PER_WORD)
}
