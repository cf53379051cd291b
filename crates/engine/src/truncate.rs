//! Truncating a text: the one function that does it, and the one marker that stands where something
//! was left out.
//!
//! What was left out is data ([`Truncated`]); nothing reads it back from the marker. Which texts of
//! a message are truncated, and how far, is decided elsewhere (`reduce`, the stages).

use crate::message::{Part, Truncated};

/// Digits of a content hash that name an artifact.
const ID_DIGITS: usize = 16;

/// How a text is truncated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Cut<'a> {
    /// Characters kept from the beginning.
    pub head: usize,
    /// Characters kept from the end.
    pub tail: usize,
    /// The id under which the whole text can be read.
    pub artifact: Option<String>,
    /// What was left out of the text before.
    pub earlier: Option<&'a Truncated>,
}

impl<'a> Cut<'a> {
    /// Keeps so many characters of either end.
    #[must_use]
    pub const fn new(head: usize, tail: usize) -> Self {
        Self { head, tail, artifact: None, earlier: None }
    }

    /// Names the artifact that holds the whole text.
    #[must_use]
    pub fn artifact(mut self, id: impl Into<String>) -> Self {
        self.artifact = Some(id.into());
        self
    }

    /// The text was truncated before: what it says is a part of a longer one.
    #[must_use]
    pub const fn after(mut self, earlier: Option<&'a Truncated>) -> Self {
        self.earlier = earlier;
        self
    }
}

/// A text that was made shorter, and what it lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortened {
    /// What is left, with the marker.
    pub text: String,
    /// What was left out.
    pub truncated: Truncated,
}

impl Shortened {
    /// A text part that says what it lost.
    #[must_use]
    pub fn into_part(self) -> Part {
        Part { truncated: Some(Box::new(self.truncated)), ..Part::text(self.text) }
    }

    /// `text` in the place of `whole`, of which it shows nothing or not the ends.
    #[must_use]
    pub fn instead(text: String, whole: &str, earlier: Option<&Truncated>) -> Self {
        let total = earlier.map_or_else(|| whole.chars().count(), |earlier| earlier.total);
        let omitted = total.saturating_sub(text.chars().count());
        let artifact = earlier.and_then(|earlier| earlier.artifact.clone());
        Self { text, truncated: Truncated { omitted, total, artifact } }
    }
}

/// The ends of a text, with a marker for what is left out between them. `None` when nothing would
/// be left out, also because an earlier cut left no more. A text without a tail says how long it
/// was.
#[must_use]
pub fn truncate(text: &str, cut: &Cut<'_>) -> Option<Shortened> {
    let shown = cut.head + cut.tail;
    if text.len() <= shown || cut.earlier.is_some_and(|earlier| earlier.shown() <= shown) {
        return None;
    }
    let chars = text.chars().count();
    let front = text.get(..nth_char(text, cut.head)?)?;
    let back = text.get(nth_char(text, chars.checked_sub(cut.tail)?).unwrap_or(text.len())..)?;
    let total = cut.earlier.map_or(chars, |earlier| earlier.total);
    let omitted = total.checked_sub(shown).filter(|&omitted| omitted > 0)?;
    let artifact = match cut.earlier {
        Some(earlier) => earlier.artifact.clone(),
        None => cut.artifact.clone(),
    };
    let truncated = Truncated { omitted, total, artifact };
    let text = format!("{front}{}{back}", marker(&truncated, cut.tail));
    Some(Shortened { text, truncated })
}

/// What stands where something was left out.
fn marker(truncated: &Truncated, tail: usize) -> String {
    let Truncated { omitted, total, artifact } = truncated;
    let whole =
        artifact.as_ref().map_or_else(String::new, |id| format!("; the whole is artifact {id}"));
    if tail == 0 {
        format!("\n... (truncated, {total} chars total{whole})")
    } else {
        format!("\n\n[... {omitted} chars omitted{whole} ...]\n\n")
    }
}

/// The beginning of a text on one line, at most `max` characters.
#[must_use]
pub fn line(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some(cut) = nth_char(&line, max) {
            line.truncate(cut);
            line.push('…');
            break;
        }
    }
    line
}

/// The id of a text as an artifact: the beginning of its hash, so that the same text has the same
/// id everywhere.
#[must_use]
pub fn artifact_id(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(ID_DIGITS).collect()
}

/// The byte at which character `n` begins, or `None` when there are no more than `n` characters.
pub(crate) fn nth_char(text: &str, n: usize) -> Option<usize> {
    if text.len() <= n {
        return None;
    }
    text.char_indices().nth(n).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E.10, S1.29: 6,000 characters become 1,000 + marker + 1,000.
    #[test]
    fn e10_head_and_tail_with_the_seeds_marker() {
        let text = format!("{}{}", "a".repeat(3_000), "b".repeat(3_000));
        let cut = truncate(&text, &Cut::new(1_000, 1_000)).unwrap();
        assert_eq!(
            cut.text,
            format!(
                "{}\n\n[... 4000 chars omitted ...]\n\n{}",
                "a".repeat(1_000),
                "b".repeat(1_000)
            )
        );
        assert_eq!((cut.truncated.omitted, cut.truncated.total), (4_000, 6_000));
        assert_eq!(truncate(&cut.text, &Cut::new(1_000, 1_000).after(Some(&cut.truncated))), None);
        assert_eq!(truncate(&"x".repeat(2_000), &Cut::new(1_000, 1_000)), None);
    }

    /// E.10: a multi-byte character at the cut stays whole.
    #[test]
    fn e10_cuts_fall_between_characters() {
        let text = "数".repeat(6_000);
        let cut = truncate(&text, &Cut::new(1_000, 1_000)).unwrap();
        assert_eq!(cut.text.chars().filter(|&c| c == '数').count(), 2_000);
    }

    /// E.11, S0.66: exactly `max` stays, one more is cut with the seed's note.
    #[test]
    fn e11_head_with_the_seeds_marker() {
        assert_eq!(truncate(&"x".repeat(1_000), &Cut::new(1_000, 0)), None);
        let cut = truncate(&"x".repeat(1_001), &Cut::new(1_000, 0)).unwrap();
        assert_eq!(cut.text, format!("{}\n... (truncated, 1001 chars total)", "x".repeat(1_000)));
        let again = Cut::new(1_000, 0).after(Some(&cut.truncated));
        assert_eq!(truncate(&cut.text, &again), None, "an already cut text is not cut again");
    }

    #[test]
    fn a_text_that_imitates_the_note_is_cut_all_the_same() {
        let text = format!("{}\n... (truncated, 9 chars total)", "x".repeat(1_000));
        assert!(truncate(&text, &Cut::new(1_000, 0)).is_some());
    }

    /// A second, harder cut counts from the whole and still names its artifact.
    #[test]
    fn a_second_cut_knows_the_whole() {
        let text = "word ".repeat(2_000);
        let first = truncate(&text, &Cut::new(2_000, 1_000).artifact(artifact_id(&text))).unwrap();
        let second =
            truncate(&first.text, &Cut::new(600, 400).after(Some(&first.truncated))).unwrap();
        assert_eq!((second.truncated.omitted, second.truncated.total), (9_000, 10_000));
        assert_eq!(second.truncated.artifact, Some(artifact_id(&text)));
        assert!(second.text.contains(&artifact_id(&text)), "{}", second.text);
    }

    #[test]
    fn a_line_is_short_and_on_one_line() {
        assert_eq!(line("  a\n\tb  c ", 10), "a b c");
        assert_eq!(line("数据库管理", 3), "数据库…");
    }
}
