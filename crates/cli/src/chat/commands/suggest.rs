//! What somebody may have meant who wrote a word that is none.

/// Of the words there are, those that are written almost so, the nearest first; and those that
/// begin so.
pub(super) fn suggest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let most = (word.chars().count() / 3).max(1);
    let begins = |name: &str| word.chars().count() > 1 && name.starts_with(word);
    let far = |name: &str| if begins(name) { 0 } else { strsim::osa_distance(word, name) };
    let mut found: Vec<(usize, &str)> =
        known.map(|name| (far(name), name)).filter(|(far, _)| *far <= most).collect();
    found.sort_by_key(|(far, _)| *far);
    found.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_word_is_not() {
        let known = ["help", "status", "context", "config"];
        let meant = |word: &str| suggest(word, known.into_iter());
        assert_eq!(meant("hlep"), ["help"]);
        assert_eq!(meant("con"), ["context", "config"]);
        assert_eq!(meant("contxet"), ["context"]);
        assert!(meant("frobnicate").is_empty() && meant("h").is_empty());
    }
}
