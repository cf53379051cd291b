//! The hints on connecting a real model that the offline model gives when it describes itself.

use serde::Deserialize;
use waterline_agent::Hints;

use crate::environment::provider_keys;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    en: Hint,
    zh: Hint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hint {
    text: String,
    comma: String,
    or: String,
}

impl Hint {
    /// Returns the text with the variables of the providers' keys.
    fn with_keys(&self) -> String {
        let keys = match provider_keys().as_slice() {
            [] => String::new(),
            [only] => (*only).to_owned(),
            [rest @ .., last] => format!("{}{}{last}", rest.join(&self.comma), self.or),
        };
        self.text.replace("{keys}", &keys)
    }
}

/// Returns the hints in both languages.
pub(crate) fn offline_hints() -> Hints {
    // The file is compiled in, and a test parses it.
    toml::from_str(include_str!("../presets/offline.toml")).map_or_else(
        |_| Hints::default(),
        |file: File| Hints { english: file.en.with_keys(), chinese: file.zh.with_keys() },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hints_name_the_variables() {
        let hints = offline_hints();
        assert!(hints.english.contains("OPENAI_API_KEY or "), "{}", hints.english);
        assert!(hints.chinese.contains("OPENAI_API_KEY 或 "), "{}", hints.chinese);
    }
}
