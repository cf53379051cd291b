//! The sentences of the offline model. They are a model's output, so they follow the language of
//! the question and not that of the program.

use std::sync::LazyLock;

use serde::Deserialize;
use waterline::message::Role;
use waterline::summary::Language;
use waterline::tokens::is_cjk;
use waterline_memory::Remembered;

static FILE: LazyLock<File> = LazyLock::new(|| {
    // The file is compiled in, and a test parses it.
    toml::from_str(include_str!("../../presets/offline.toml")).unwrap_or_default()
});

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    en: Phrases,
    zh: Phrases,
}

/// The sentences of the offline model in one language.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Phrases {
    pub(super) about: String,
    /// The short form, if the conversation already contains the long one.
    pub(super) brief: String,
    /// The separator between two sentences.
    pub(super) space: String,
    pub(super) nothing: String,
    pub(super) matching: String,
    message: String,
    user: String,
    assistant: String,
    result: String,
    memory: String,
    superseded: String,
    pub(super) logged: String,
    pub(super) saved: String,
    pub(super) not_saved: String,
    pub(super) ending: String,
    pub(super) tool: String,
    pub(super) returned: String,
    pub(super) failed: String,
}

impl Phrases {
    /// Quotes a message of the session.
    pub(super) fn message(&self, number: u64, role: Role, text: &str) -> String {
        let role = match role {
            Role::User => &self.user,
            Role::Assistant => &self.assistant,
            Role::System | Role::Tool => &self.result,
        };
        let line = self.message.replace("{number}", &number.to_string());
        line.replace("{role}", role).replace("{text}", text)
    }

    /// Quotes a line of the memory.
    pub(super) fn memory(&self, line: &Remembered) -> String {
        let form = if line.is_superseded { &self.superseded } else { &self.memory };
        form.replace("{place}", &line.place).replace("{text}", &line.text)
    }
}

/// Returns the sentences in Chinese or in English.
pub(super) fn phrases(is_chinese: bool) -> &'static Phrases {
    if is_chinese { &FILE.zh } else { &FILE.en }
}

/// Returns whether a conversation is in Chinese, from what the user wrote, newest first. A message
/// that does not tell, such as a path, is in the language of the message before it.
pub(super) fn is_chinese(mut questions: impl Iterator<Item = String>) -> bool {
    let language = |text: String| match text.chars().any(is_cjk) {
        true if has_chinese(&text) => Some(Language::Chinese),
        true => Some(Language::English),
        false => Language::of_text(&text),
    };
    questions.find_map(language) == Some(Language::Chinese)
}

/// Returns whether a text with Chinese characters is in Chinese.
fn has_chinese(question: &str) -> bool {
    let is_kana = |c: char| ('\u{3040}'..='\u{30ff}').contains(&c);
    let is_hangul = |c: char| ('\u{ac00}'..='\u{d7af}').contains(&c);
    !question.chars().any(|c| is_kana(c) || is_hangul(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_every_sentence_in_both_languages() {
        let file: File = toml::from_str(include_str!("../../presets/offline.toml")).unwrap();
        assert!(!file.en.about.is_empty() && is_chinese([file.zh.about].into_iter()));
    }

    #[test]
    fn the_newest_message_that_tells_decides() {
        let chinese = |texts: &[&str]| is_chinese(texts.iter().map(|text| (*text).to_owned()));
        assert!(chinese(&["4711?", "src/main.rs", "密码是多少？"]));
        assert!(!chinese(&["what is the door code?", "密码是多少？"]));
        assert!(!chinese(&["4711?"]) && !chinese(&["パスワードは何ですか", "密码是多少？"]));
    }
}
