//! Splitting a long text into passages, which are indexed one by one.

use crate::script::words;
use crate::sentence::{FULL, sentences};

/// A text with more words than this is split.
const SPLIT_ABOVE: f64 = 110.0;
/// The largest passage of a text that is split. One longer sentence stays whole.
const PASSAGE: f64 = 80.0;

/// Returns the passages of a text: the text itself, or groups of the sentences of a long one.
pub(crate) fn passages(text: &str) -> Vec<String> {
    if words(text) <= SPLIT_ABOVE {
        return vec![text.to_owned()];
    }
    let mut passages = Vec::new();
    let mut passage = String::new();
    let mut size = 0.0;
    for sentence in sentences(text, FULL) {
        let words = words(sentence);
        if size > 0.0 && size + words > PASSAGE {
            passages.push(std::mem::take(&mut passage));
            size = 0.0;
        }
        passage.push_str(sentence);
        passage.push('\n');
        size += words;
    }
    passages.push(passage);
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_one_passage() {
        assert_eq!(passages("One. Two."), ["One. Two."]);
    }

    #[test]
    fn long_texts_are_split_between_sentences() {
        let sentence = format!("{}end. ", "word ".repeat(49));
        let sizes: Vec<f64> =
            passages(&sentence.repeat(3)).iter().map(|text| words(text)).collect();
        assert_eq!(sizes, [50.0, 50.0, 50.0]);
        let long = format!("{}end.", "word ".repeat(400));
        assert_eq!(passages(&long).len(), 1);
    }

    #[test]
    fn chinese_counts_by_characters() {
        let text = "我们今天讨论数据库。".repeat(100);
        let passages = passages(&text);
        assert!(passages.len() > 1);
        assert!(passages.iter().all(|passage| words(passage) <= PASSAGE));
    }
}
