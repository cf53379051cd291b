//! The sentences around the prompts of the schemas, in both languages: the word limit, the feedback
//! after an unusable answer, and the like. They are in `presets/summaries/wording.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Language;

static FILE: LazyLock<File> = LazyLock::new(|| {
    // The file is compiled in, and a test parses it.
    toml::from_str(include_str!("../../presets/summaries/wording.toml")).unwrap_or_default()
});

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    en: Wording,
    zh: Wording,
}

/// The sentences around the prompt of a summary, in one language.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    pub(super) question: String,
    limit: String,
    focus: String,
    conversation: String,
    part: String,
    feedback: String,
    /// What separates the keys of a list.
    separator: String,
    reasons: BTreeMap<String, String>,
}

impl Wording {
    /// Returns the sentences in a language.
    #[must_use]
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &FILE.en,
            Language::Chinese => &FILE.zh,
        }
    }

    /// Returns the sentence that limits the length of a summary.
    #[must_use]
    pub fn limit(&self, words: usize) -> String {
        self.limit.replace("{words}", &words.to_string())
    }

    /// Returns the sentence that names the topic that matters most.
    #[must_use]
    pub fn focus(&self, topic: &str) -> String {
        self.focus.replace("{topic}", topic)
    }

    /// Returns the line before messages that are sent as text: part `part` of `count`, from 1.
    #[must_use]
    pub fn conversation(&self, part: usize, count: usize) -> String {
        if count < 2 {
            return self.conversation.clone();
        }
        self.part.replace("{part}", &part.to_string()).replace("{count}", &count.to_string())
    }

    /// Returns the sentence that says why the previous answer was rejected.
    #[must_use]
    pub fn feedback(&self, reason: &str) -> String {
        self.feedback.replace("{reason}", reason)
    }

    /// Returns why an answer was rejected, by the name of the reason in the file, with the keys
    /// that it lacked.
    #[must_use]
    pub fn reason(&self, name: &str, keys: &[String]) -> Option<String> {
        Some(self.reasons.get(name)?.replace("{keys}", &keys.join(&self.separator)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_exists_in_both_languages_and_names_the_same_values() {
        let text = include_str!("../../presets/summaries/wording.toml");
        let file: File = toml::from_str(text).unwrap();
        let sentences = |wording: &Wording| {
            let named = [
                ("question", &wording.question),
                ("limit", &wording.limit),
                ("focus", &wording.focus),
                ("conversation", &wording.conversation),
                ("part", &wording.part),
                ("feedback", &wording.feedback),
            ];
            let named = named.map(|(name, text)| (name.to_owned(), text.clone()));
            named.into_iter().chain(wording.reasons.clone()).collect::<BTreeMap<_, _>>()
        };
        let values = |text: &str| {
            let mut values: Vec<String> = text
                .split('{')
                .skip(1)
                .map(|rest| rest.split('}').next().unwrap().into())
                .collect();
            values.sort();
            values
        };
        let (english, chinese) = (sentences(&file.en), sentences(&file.zh));
        assert!(english.keys().eq(chinese.keys()), "{english:?} {chinese:?}");
        for (name, text) in &english {
            assert!(!text.is_empty(), "{name}");
            assert_eq!(values(text), values(&chinese[name]), "{name}");
            assert_eq!(Language::of_texts([chinese[name].as_str()]), Language::Chinese, "{name}");
        }
    }
}
