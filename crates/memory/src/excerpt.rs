//! The part of a long text that shows why it was found.

/// Returns the part of a text that has the most of these words, at most `max` characters of it. An
/// ellipsis marks an end where the text continues.
#[must_use]
pub fn excerpt(text: &str, words: &[String], max: usize) -> String {
    let chars: Vec<char> = text.trim().chars().collect();
    if chars.len() <= max {
        return chars.into_iter().collect();
    }
    let lower: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let word: Vec<char> = word.to_lowercase().chars().collect();
        let matches = lower.windows(word.len().max(1)).enumerate();
        found.extend(matches.filter(|(_, window)| *window == word).map(|(at, _)| (at, number)));
    }
    // The rarest word says most.
    let count = |word: usize| found.iter().filter(|(_, number)| *number == word).count();
    let rarest = (0..words.len()).filter(|&word| count(word) > 0).min_by_key(|&word| count(word));
    let places = found.iter().filter(|(_, number)| Some(*number) == rarest).map(|(at, _)| *at);
    // The text before a word is part of its meaning.
    let lead = max / 3;
    let distinct = |place: usize| {
        let from = place.saturating_sub(lead);
        let inside = found.iter().filter(|(at, _)| (from..from + max).contains(at));
        let mut numbers: Vec<usize> = inside.map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len()
    };
    // Of several equally good positions, the first.
    let places: Vec<usize> = places.collect();
    let best = places.iter().rev().max_by_key(|&&place| distinct(place)).copied().unwrap_or(0);
    let from = best.saturating_sub(lead).min(chars.len() - max);
    let shown: String = chars.iter().skip(from).take(max).collect();
    let head = if from > 0 { "…" } else { "" };
    let tail = if from + max < chars.len() { "…" } else { "" };
    format!("{head}{shown}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_shows_the_place_with_the_most_words() {
        let text =
            format!("port {} the database port is 5433 {}", "x".repeat(200), "y".repeat(200));
        let words = ["port".to_owned(), "database".to_owned()];
        let shown = excerpt(&text, &words, 60);
        assert!(shown.contains("database port is 5433"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(excerpt("short", &words, 60), "short");
    }
}
