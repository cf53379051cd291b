//! Splitting a text into sentences.

/// Characters that end a sentence.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    /// Those that need white space after them.
    pub before_space: &'static [char],
    /// Those that end a sentence wherever they are.
    pub anywhere: &'static [char],
}

/// Full stops, exclamation and question marks.
pub(crate) const FULL: Ends =
    Ends { before_space: &['.', '!', '?'], anywhere: &['。', '！', '？'] };
/// Full stops, exclamation marks, question marks and semicolons.
pub(crate) const CLAUSES: Ends =
    Ends { before_space: &['.', '!', '?', ';'], anywhere: &['。', '！', '？', '；'] };

/// Returns the sentences of a text. Ends of lines end a sentence too. No sentence is empty.
pub(crate) fn sentences(text: &str, ends: Ends) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches('\n');
        let end = end_of_first(rest, ends);
        let (sentence, after) = rest.split_at_checked(end).filter(|_| !rest.is_empty())?;
        rest = if sentence.ends_with(ends.before_space) { after.trim_start() } else { after };
        Some(sentence)
    })
}

fn end_of_first(text: &str, ends: Ends) -> usize {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().copied();
        let end = next.map_or(text.len(), |(next, _)| next);
        if character == '\n' {
            return at;
        }
        let is_space_next = next.is_some_and(|(_, next)| next.is_whitespace());
        if ends.anywhere.contains(&character)
            || ends.before_space.contains(&character) && is_space_next
        {
            return end;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<&str> {
        sentences(text, FULL).collect()
    }

    #[test]
    fn sentences_end_at_marks_before_space_and_at_line_ends() {
        assert_eq!(
            all("One. Two v1.2! \n Three?\n\nfour\nfive"),
            ["One.", "Two v1.2!", "Three?", "four", "five"]
        );
    }

    #[test]
    fn chinese_marks_need_no_space() {
        assert_eq!(all("我喝茶。你呢？\n好"), ["我喝茶。", "你呢？", "好"]);
    }

    #[test]
    fn semicolons_end_clauses() {
        let clauses: Vec<&str> = sentences("never push; I prefer tea；好", CLAUSES).collect();
        assert_eq!(clauses, ["never push;", "I prefer tea；", "好"]);
    }
}
