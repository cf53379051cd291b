//! Estimates tokens from characters, for models whose vocabulary is not public.

/// The characters per token of plain text, in hundredths so that it can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio(u32);

impl Ratio {
    /// The ratio of a model that was not measured. It is low on purpose: counting too few tokens
    /// would overflow the window.
    pub const DEFAULT: Self = Self(280);

    /// Creates a ratio, clamped to one to eight characters per token.
    #[must_use]
    pub fn new(chars_per_token: f64) -> Self {
        let hundredths = (chars_per_token.clamp(1.0, 8.0) * 100.0).round();
        // NaN becomes the default.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 100..=800"
        )]
        if hundredths.is_nan() { Self::DEFAULT } else { Self(hundredths as u32) }
    }

    /// Returns the characters per token.
    #[must_use]
    pub fn chars_per_token(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Returns the tokens of a text: one per CJK character, two for three other non-ASCII
    /// characters.
    #[must_use]
    pub fn tokens(self, text: &str) -> usize {
        if text.is_ascii() {
            return (text.len() * 100).div_ceil(self.0 as usize);
        }
        let Census { ascii, cjk, other } = Census::of(text);
        cjk + (ascii * 100).div_ceil(self.0 as usize) + (other * 2).div_ceil(3)
    }
}

/// Counts a quarter of the characters, and one token per CJK character.
pub(super) fn quarter(text: &str) -> usize {
    let Census { ascii, cjk, other } = Census::of(text);
    cjk + (ascii + other).div_ceil(4)
}

/// Counts as CowAgent does.
pub(super) fn cow(text: &str) -> usize {
    let Census { ascii, cjk, other } = Census::of(text);
    (ascii + 6 * (cjk + other)).div_ceil(4) + 1
}

struct Census {
    ascii: usize,
    cjk: usize,
    other: usize,
}

impl Census {
    fn of(text: &str) -> Self {
        let mut census = Self { ascii: 0, cjk: 0, other: 0 };
        for character in text.chars() {
            if character.is_ascii() {
                census.ascii += 1;
            } else if is_cjk(character) {
                census.cjk += 1;
            } else {
                census.other += 1;
            }
        }
        census
    }
}

/// Returns whether a character is Chinese, Japanese or Korean.
#[must_use]
pub const fn is_cjk(character: char) -> bool {
    matches!(
        character,
        '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chinese_character_is_a_token() {
        assert_eq!(Ratio::new(4.0).tokens("数据库管理系统"), 7);
        assert_eq!(Ratio::new(4.0).tokens("abcdefgh数"), 3);
    }

    #[test]
    fn an_invalid_ratio_is_clamped() {
        assert_eq!(Ratio::new(0.0), Ratio::new(1.0));
        assert_eq!(Ratio::new(f64::NAN), Ratio::DEFAULT);
    }
}
