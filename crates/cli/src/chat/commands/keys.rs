//! The keys that a policy can have, and those that somebody may have meant.

use waterline::policy::FOLD_KEYS;
use waterline::stage::STAGES;

use super::suggest::suggest;
use crate::lang::say;

/// How many keys are named.
const NAMED: usize = 4;

/// Every key, with its section.
fn all() -> impl Iterator<Item = String> {
    let fold = FOLD_KEYS.iter().map(|key| format!("fold.{}", key.name));
    fold.chain(
        STAGES.iter().flat_map(|stage| {
            stage.keys.iter().map(move |key| format!("{}.{}", stage.name, key.name))
        }),
    )
}

/// Whether some policy can have such a key.
pub(super) fn is_key(key: &str) -> bool {
    all().any(|known| known == key)
}

/// That there is no such key, and which are near it: written almost so, or in the same section.
pub(super) fn unknown(key: &str) -> String {
    let known: Vec<String> = all().collect();
    let section = key.split_once('.').map_or(key, |(section, _)| section);
    let is_beside = |name: &str| name.split_once('.').is_some_and(|(own, _)| own == section);
    let mut named = suggest(key, known.iter().map(String::as_str));
    for name in known.iter().map(String::as_str).filter(|name| is_beside(name)) {
        if !named.contains(&name) {
            named.push(name);
        }
    }
    named.truncate(NAMED);
    match named.join(", ") {
        none if none.is_empty() => say(
            format!("there is no key {key}; `waterline policy keys` lists them"),
            format!("没有键 {key}；`waterline policy keys` 可列出"),
        ),
        some => say(
            format!("there is no key {key}; near it: {some}"),
            format!("没有键 {key}；相近的有：{some}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_key, unknown};

    #[test]
    fn a_key_that_is_none_is_told_with_those_near_it() {
        assert!(is_key("fold.high") && is_key("window.messages") && !is_key("fold.hihg"));
        assert!(unknown("fold.hihg").contains("fold.high"));
        assert!(unknown("halve.x").contains("halve.turns"));
        assert!(unknown("foo.bar").contains("waterline policy keys"));
    }
}
