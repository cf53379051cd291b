//! Compiling the regular expressions that are part of the program.

use regex::Regex;

/// Compiles a pattern for lower-case text. Word boundaries are those of ASCII, which is faster, and
/// finds an English word next to a Chinese one.
#[expect(clippy::expect_used, reason = "a pattern of the program that is wrong fails every test")]
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(&ascii_boundaries(text)).expect("the patterns of the program compile")
}

/// Replaces the word boundaries of a pattern by those of ASCII.
pub(crate) fn ascii_boundaries(text: &str) -> String {
    text.replace(r"\b", r"(?-u:\b)")
}
