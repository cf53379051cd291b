//! The passage of a text that shows why it matches a query.

use crate::search_terms::query_terms;

/// How many places of each term are considered.
const MAX_PLACES: usize = 100;

/// Returns the part of a text that contains the most terms of a query, at most `max_chars`
/// characters. Ellipses mark omitted text.
pub(crate) fn passage(text: &str, query: &str, max_chars: usize) -> String {
    // One lower-case character for each character, so that positions stay the same.
    let lower: String = text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
    let length = lower.chars().count();
    // Some text before the first term makes it easier to read.
    let lead = max_chars / 5;
    let best = best_place(&lower, query, max_chars.saturating_sub(lead))
        .map_or(0, |at| at.saturating_sub(lead));
    let from = if length <= max_chars { 0 } else { best };
    let shown: String = text.chars().skip(from).take(max_chars).collect();
    let head = if from > 0 { "…" } else { "" };
    let tail = if length > from + max_chars { "…" } else { "" };
    format!("{head}{shown}{tail}")
}

/// Returns the index of the character from which `span` characters contain the most terms.
fn best_place(lower: &str, query: &str, span: usize) -> Option<usize> {
    let starts: Vec<usize> = lower.char_indices().map(|(at, _)| at).collect();
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (number, (term, is_prefix)) in query_terms(query).into_iter().enumerate() {
        let found = whole_words(lower, &term, is_prefix);
        places.extend(found.into_iter().map(|at| (starts.partition_point(|s| *s < at), number)));
    }
    places.sort_unstable();
    let terms_from = |at: usize| {
        let end = places.get(at).map_or(0, |(place, _)| place + span);
        let near = places.iter().skip(at).take_while(|(place, _)| *place < end);
        let mut numbers: Vec<usize> = near.map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    };
    // The first of several equally good places.
    let best = (0..places.len()).max_by_key(|&at| (terms_from(at), std::cmp::Reverse(at)))?;
    places.get(best).map(|(place, _)| *place)
}

/// Returns the offsets of a term: where it is a whole word, or else where it is part of one.
fn whole_words(lower: &str, term: &str, is_prefix: bool) -> Vec<usize> {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && c.is_ascii());
    let is_whole = |at: &usize| {
        let before = lower.get(..*at).unwrap_or_default();
        let after = lower.get(at + term.len()..).unwrap_or_default();
        !is_letter(before.chars().next_back()) && (is_prefix || !is_letter(after.chars().next()))
    };
    let all = || lower.match_indices(term).map(|(at, _)| at);
    let whole: Vec<usize> = all().filter(is_whole).take(MAX_PLACES).collect();
    if whole.is_empty() { all().take(MAX_PLACES).collect() } else { whole }
}

#[cfg(test)]
mod tests {
    use super::passage;

    #[test]
    fn a_passage_shows_the_words() {
        let text = format!(
            "refused: a pull request. {} the connection was refused by {}",
            "filler ".repeat(80),
            "the host ".repeat(80)
        );
        let shown = passage(&text, "connection refused", 60);
        assert!(shown.contains("connection was refused"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.chars().count() <= 62);
        assert_eq!(passage("short text", "absent", 60), "short text");
        let text =
            format!("{}记住：大门密码是4711。{}", "无关的话。".repeat(60), "其他。".repeat(60));
        assert!(passage(&text, "大门密码是多少？", 30).contains("大门密码是4711"));
        assert_eq!(passage("İstanbul", "tan", 4), "…tanb…");
    }
}
