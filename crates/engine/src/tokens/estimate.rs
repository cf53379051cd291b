//! Estimates from characters, for models whose vocabulary is not public.

/// Characters of plain text that make one token. Kept in hundredths so that it can be compared and
/// hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio(u32);

impl Ratio {
    /// For a model nobody measured: low on purpose, because counting too few tokens is what
    /// overflows.
    pub const DEFAULT: Self = Self(280);

    /// A ratio between one and eight characters a token; anything else is held to that range.
    #[must_use]
    pub fn new(chars_per_token: f64) -> Self {
        let hundredths = (chars_per_token.clamp(1.0, 8.0) * 100.0).round();
        // In range by the clamp above; NaN becomes the default.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 100..=800"
        )]
        if hundredths.is_nan() { Self::DEFAULT } else { Self(hundredths as u32) }
    }

    /// Characters a token.
    #[must_use]
    pub fn chars_per_token(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// The tokens of a text: CJK characters one each, other letters beyond ASCII two for three.
    #[must_use]
    pub fn tokens(self, text: &str) -> usize {
        if text.is_ascii() {
            return (text.len() * 100).div_ceil(self.0 as usize);
        }
        let Census { ascii, cjk, other } = Census::of(text);
        cjk + (ascii * 100).div_ceil(self.0 as usize) + (other * 2).div_ceil(3)
    }
}

/// A quarter of the characters, and one token a CJK character.
pub(super) fn quarter(text: &str) -> usize {
    let Census { ascii, cjk, other } = Census::of(text);
    cjk + (ascii + other).div_ceil(4)
}

/// CowAgent's estimate.
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

/// Whether a character is Chinese, Japanese or Korean script.
#[must_use]
pub const fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_is_not_counted_as_a_quarter() {
        assert_eq!(Ratio::new(4.0).tokens("数据库管理系统"), 7);
        assert_eq!(Ratio::new(4.0).tokens("abcdefgh数"), 3);
    }

    #[test]
    fn a_nonsense_ratio_is_held_to_the_range() {
        assert_eq!(Ratio::new(0.0), Ratio::new(1.0));
        assert_eq!(Ratio::new(f64::NAN), Ratio::DEFAULT);
    }
}
