//! The keys that a policy can have, and suggestions for a misspelled one.

use waterline::policy::FOLD_KEYS;
use waterline::stage::STAGES;

use super::suggest::suggest;
use crate::lang::list;
use crate::text;

/// Maximum number of keys that are suggested.
const SUGGESTIONS: usize = 4;

/// Returns every key as `section.key`.
fn all() -> impl Iterator<Item = String> {
    let fold = FOLD_KEYS.iter().map(|key| format!("fold.{}", key.name));
    fold.chain(
        STAGES.iter().flat_map(|stage| {
            stage.keys.iter().map(move |key| format!("{}.{}", stage.name, key.name))
        }),
    )
}

/// Returns whether some policy can have this key.
pub(super) fn is_key(key: &str) -> bool {
    all().any(|known| known == key)
}

/// Returns the message for an unknown key, with keys that are spelled similarly or are in the same
/// section.
pub(super) fn unknown(key: &str) -> String {
    let known: Vec<String> = all().collect();
    let section = key.split_once('.').map_or(key, |(section, _)| section);
    let is_sibling = |name: &str| name.split_once('.').is_some_and(|(own, _)| own == section);
    let mut suggested = suggest(key, known.iter().map(String::as_str));
    for name in known.iter().map(String::as_str).filter(|name| is_sibling(name)) {
        if !suggested.contains(&name) {
            suggested.push(name);
        }
    }
    suggested.truncate(SUGGESTIONS);
    if suggested.is_empty() {
        text!("policy-key-unknown", key = key)
    } else {
        text!("policy-key-suggestions", key = key, keys = list(&suggested))
    }
}

#[cfg(test)]
mod tests {
    use super::{is_key, unknown};

    #[test]
    fn an_unknown_key_is_reported_with_similar_keys() {
        assert!(is_key("fold.high") && is_key("window.messages") && !is_key("fold.hihg"));
        assert!(unknown("fold.hihg").contains("fold.high"));
        assert!(unknown("halve.x").contains("halve.turns"));
        assert!(unknown("foo.bar").contains("waterline policy keys"));
    }
}
