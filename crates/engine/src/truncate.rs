//! Truncates a text and puts a marker where something was left out. Only this file does that for
//! the texts of messages. Notes that are not a gap in a text (more search results, a content block
//! of another type, earlier messages of a summary's material) are worded where they are made.
//!
//! What was left out is data ([`Truncated`]); nothing parses the marker. Which texts of a message
//! are truncated, and how far, is decided elsewhere (`reduce`, the stages).

use crate::message::{Part, Truncated};

/// The number of hash digits in the id of an artifact.
const ID_DIGITS: usize = 16;

/// How a text is truncated.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Truncation<'a> {
    /// Characters kept from the beginning.
    pub head: usize,
    /// Characters kept from the end.
    pub tail: usize,
    /// The id of the artifact that holds the whole text.
    pub artifact: Option<String>,
    /// What an earlier truncation left out of the text.
    pub earlier: Option<&'a Truncated>,
}

impl<'a> Truncation<'a> {
    /// Keeps `head` characters of the beginning and `tail` of the end.
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

    /// Sets what an earlier truncation left out, so that the marker counts from the whole text.
    #[must_use]
    pub const fn after(mut self, earlier: Option<&'a Truncated>) -> Self {
        self.earlier = earlier;
        self
    }
}

/// A text that was shortened, and what was left out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortened {
    /// The remaining text, with the marker.
    pub text: String,
    /// What was left out.
    pub truncated: Truncated,
}

impl Shortened {
    /// Converts it into a text part that records what was left out.
    #[must_use]
    pub fn into_part(self) -> Part {
        Part { truncated: Some(Box::new(self.truncated)), ..Part::text(self.text) }
    }

    /// Replaces `whole` with a `text` that is not made of its head and tail.
    #[must_use]
    pub fn instead(text: String, whole: &str, earlier: Option<&Truncated>) -> Self {
        let total = earlier.map_or_else(|| whole.chars().count(), |earlier| earlier.total);
        let omitted = total.saturating_sub(text.chars().count());
        let artifact = earlier.and_then(|earlier| earlier.artifact.clone());
        Self { text, truncated: Truncated { omitted, total, artifact } }
    }
}

/// Returns the head and tail of a text, with a marker for what is left out between them. Returns
/// `None` if nothing would be left out, or if an earlier truncation already left no more than that.
/// Without a tail, the marker says how long the text was.
#[must_use]
pub fn truncate(text: &str, truncation: &Truncation<'_>) -> Option<Shortened> {
    let shown = truncation.head + truncation.tail;
    if text.len() <= shown || truncation.earlier.is_some_and(|earlier| earlier.shown() <= shown) {
        return None;
    }
    let chars = text.chars().count();
    let head = text.get(..nth_char(text, truncation.head)?)?;
    let tail =
        text.get(nth_char(text, chars.checked_sub(truncation.tail)?).unwrap_or(text.len())..)?;
    let total = truncation.earlier.map_or(chars, |earlier| earlier.total);
    let omitted = total.checked_sub(shown).filter(|&omitted| omitted > 0)?;
    let artifact = match truncation.earlier {
        Some(earlier) => earlier.artifact.clone(),
        None => truncation.artifact.clone(),
    };
    let truncated = Truncated { omitted, total, artifact };
    let text = format!("{head}{}{tail}", marker(&truncated, truncation.tail));
    Some(Shortened { text, truncated })
}

/// Joins the head and tail of a text of which `omitted` characters in between were never kept, such
/// as the output of a command, with the marker of [`truncate`].
#[must_use]
pub fn join(head: &str, tail: &str, omitted: usize) -> Shortened {
    let tail_chars = tail.chars().count();
    let truncated = Truncated::new(omitted, head.chars().count() + tail_chars + omitted);
    let text = format!("{head}{}{tail}", marker(&truncated, tail_chars));
    Shortened { text, truncated }
}

/// Returns the text that marks where something was left out.
fn marker(truncated: &Truncated, tail: usize) -> String {
    let Truncated { omitted, total, artifact } = truncated;
    let whole =
        artifact.as_ref().map_or_else(String::new, |id| format!("; full text in artifact {id}"));
    if tail == 0 {
        format!("\n... (truncated, {total} chars total{whole})")
    } else {
        format!("\n\n[... {omitted} chars omitted{whole} ...]\n\n")
    }
}

/// Returns the beginning of a text on one line, at most `max` characters.
#[must_use]
pub fn line(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some(end) = nth_char(&line, max) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}

/// Returns the id of a text as an artifact: the beginning of its hash, so that the same text always
/// has the same id.
#[must_use]
pub fn artifact_id(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(ID_DIGITS).collect()
}

/// Returns the byte offset of character `n`, or `None` if there are not more than `n` characters.
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
        let shortened = truncate(&text, &Truncation::new(1_000, 1_000)).unwrap();
        assert_eq!(
            shortened.text,
            format!(
                "{}\n\n[... 4000 chars omitted ...]\n\n{}",
                "a".repeat(1_000),
                "b".repeat(1_000)
            )
        );
        assert_eq!((shortened.truncated.omitted, shortened.truncated.total), (4_000, 6_000));
        assert_eq!(
            truncate(
                &shortened.text,
                &Truncation::new(1_000, 1_000).after(Some(&shortened.truncated))
            ),
            None
        );
        assert_eq!(truncate(&"x".repeat(2_000), &Truncation::new(1_000, 1_000)), None);
        assert_eq!(
            truncate(&"水".repeat(2_000), &Truncation::new(1_000, 1_000)),
            None,
            "characters"
        );
    }

    /// E.10: a multi-byte character at the boundary stays whole.
    #[test]
    fn e10_characters_are_never_split() {
        let text = "数".repeat(6_000);
        let shortened = truncate(&text, &Truncation::new(1_000, 1_000)).unwrap();
        assert_eq!(shortened.text.chars().filter(|&c| c == '数').count(), 2_000);
    }

    /// E.11, S0.66: a text of exactly `max` characters stays; one more is truncated with the seed's
    /// marker.
    #[test]
    fn e11_head_with_the_seeds_marker() {
        assert_eq!(truncate(&"x".repeat(1_000), &Truncation::new(1_000, 0)), None);
        let shortened = truncate(&"x".repeat(1_001), &Truncation::new(1_000, 0)).unwrap();
        assert_eq!(
            shortened.text,
            format!("{}\n... (truncated, 1001 chars total)", "x".repeat(1_000))
        );
        let again = Truncation::new(1_000, 0).after(Some(&shortened.truncated));
        assert_eq!(
            truncate(&shortened.text, &again),
            None,
            "a truncated text is not truncated again"
        );
    }

    #[test]
    fn a_text_that_imitates_the_marker_is_truncated_too() {
        let text = format!("{}\n... (truncated, 9 chars total)", "x".repeat(1_000));
        assert!(truncate(&text, &Truncation::new(1_000, 0)).is_some());
    }

    /// A second, shorter truncation counts from the whole text and still names its artifact.
    #[test]
    fn a_second_truncation_counts_from_the_whole_text() {
        let text = "word ".repeat(2_000);
        let first =
            truncate(&text, &Truncation::new(2_000, 1_000).artifact(artifact_id(&text))).unwrap();
        let second =
            truncate(&first.text, &Truncation::new(600, 400).after(Some(&first.truncated)))
                .unwrap();
        assert_eq!((second.truncated.omitted, second.truncated.total), (9_000, 10_000));
        assert_eq!(second.truncated.artifact, Some(artifact_id(&text)));
        assert!(second.text.contains(&artifact_id(&text)), "{}", second.text);
    }

    #[test]
    fn parts_of_a_text_are_joined_as_if_it_were_truncated() {
        let text = format!("{}{}", "a".repeat(30), "b".repeat(30));
        let joined = join(&"a".repeat(10), &"b".repeat(10), 40);
        assert_eq!(joined, truncate(&text, &Truncation::new(10, 10)).unwrap());
    }

    #[test]
    fn a_line_is_short_and_on_one_line() {
        assert_eq!(line("  a\n\tb  c ", 10), "a b c");
        assert_eq!(line("数据库管理", 3), "数据库…");
    }
}
