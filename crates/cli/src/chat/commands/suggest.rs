//! Suggestions for a misspelled name.

/// The commands that delete something.
const DELETES: [&str; 1] = ["clean"];

/// Returns the known names that are spelled similarly or start with `name`, the closest first.
pub(super) fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    let is_prefix = |other: &str| name.chars().count() > 1 && other.starts_with(name);
    let distance = |other: &str| match is_prefix(other) {
        true => 0,
        false => strsim::osa_distance(name, other),
    };
    let mut found: Vec<(usize, &str)> = known
        .map(|other| (distance(other), other))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    // Of names that are equally close, a command that deletes something comes last.
    found.sort_by_key(|(distance, name)| (*distance, DELETES.contains(name)));
    found.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_typo_is_corrected_and_an_unrelated_name_is_not() {
        let known = ["help", "status", "context", "config", "clean", "clear"];
        let suggested = |name: &str| suggest(name, known.into_iter());
        assert_eq!(suggested("hlep"), ["help"]);
        assert_eq!(suggested("con"), ["context", "config"]);
        assert_eq!(suggested("contxet"), ["context"]);
        assert_eq!(suggested("cle"), ["clear", "clean"]);
        assert!(suggested("frobnicate").is_empty() && suggested("h").is_empty());
    }
}
