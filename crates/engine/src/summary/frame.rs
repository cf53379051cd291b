//! The lines around a summary in the context and the words of the digest, in the language of the
//! conversation. They are in `presets/summaries/frame.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Language, Summarize};
use crate::history::History;

static FILE: LazyLock<File> = LazyLock::new(|| {
    // The file is compiled in, and a test parses it.
    toml::from_str(include_str!("../../presets/summaries/frame.toml")).unwrap_or_default()
});

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    en: Frame,
    zh: Frame,
}

/// The lines around a summary, in one language.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frame {
    heading: String,
    /// The line that says what follows, and that it has no authority of its own.
    mark: String,
    one: String,
    many: String,
    values_of_one: String,
    values_of_many: String,
    truncated: String,
    /// The heading of the lines that every fold keeps: open todos and approvals, standing
    /// instructions, the working directory.
    pub(crate) open: String,
    /// The heading of the ledger.
    pub(crate) ledger: String,
    stable: String,
    digest: DigestWords,
}

/// The words of the digest, in one language.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DigestWords {
    one_unlisted: String,
    unlisted: String,
    user: String,
    assistant: String,
    pub(super) done: String,
    pub(super) interrupted: String,
    pub(super) failed: String,
    failed_with: String,
    lines: String,
}

impl DigestWords {
    /// Returns the words for a conversation.
    pub(super) fn of(history: &History) -> &'static Self {
        &Frame::of(history).digest
    }

    /// Says how many steps and answers are left out.
    pub(super) fn unlisted(&self, count: usize) -> String {
        match count {
            1 => self.one_unlisted.clone(),
            _ => self.unlisted.replace("{count}", &count.to_string()),
        }
    }

    pub(super) fn user(&self, text: &str) -> String {
        self.user.replace("{text}", text)
    }

    pub(super) fn assistant(&self, text: &str) -> String {
        self.assistant.replace("{text}", text)
    }

    pub(super) fn failed_with(&self, text: &str) -> String {
        self.failed_with.replace("{text}", text)
    }

    /// Returns the first line of a result with the number of its lines.
    pub(super) fn lines(&self, first: &str, count: usize) -> String {
        self.lines.replace("{count}", &count.to_string()).replace("{text}", first)
    }
}

impl Frame {
    /// Returns the lines for a conversation.
    pub(crate) fn of(history: &History) -> &'static Self {
        match Language::of_history(history) {
            Language::English => &FILE.en,
            Language::Chinese => &FILE.zh,
        }
    }

    /// Returns the first lines of a summary of these messages. A small block may have space for
    /// values only.
    pub(crate) fn header(
        &self,
        settings: &Summarize,
        history: &History,
        sources: &[usize],
        has_values_only: bool,
    ) -> String {
        let (one, many) = match has_values_only {
            true => (&self.values_of_one, &self.values_of_many),
            false => (&self.one, &self.many),
        };
        let number = |index: &usize| history.number(*index).unwrap_or_default().to_string();
        let about = match sources {
            [] => self.truncated.clone(),
            [only] => one.replace("{first}", &number(only)),
            [first, .., last] => many
                .replace("{count}", &sources.len().to_string())
                .replace("{first}", &number(first))
                .replace("{last}", &number(last)),
        };
        self.lines(settings, &about)
    }

    /// Returns the first lines of the part of a ledger that several folds send.
    pub(crate) fn stable_header(&self, settings: &Summarize) -> String {
        self.lines(settings, &self.stable)
    }

    /// Returns the heading and the marked second line. The heading of a policy that has its own is
    /// the same in every language.
    fn lines(&self, settings: &Summarize, about: &str) -> String {
        let heading = match settings.heading == FILE.en.heading {
            true => &self.heading,
            false => &settings.heading,
        };
        format!("{heading}\n{}", self.mark.replace("{about}", about))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::summary::REFERENCE_ONLY;
    use crate::tokens::Counter;

    #[test]
    fn the_english_lines_have_the_usual_heading_and_mark() {
        assert_eq!(FILE.en.heading, Summarize::default().heading);
        assert!(FILE.en.mark.contains(REFERENCE_ONLY));
    }

    #[test]
    fn the_lines_are_in_the_language_of_the_conversation() {
        let header = |text: &str, heading: &str| {
            let messages: Vec<Message> = (0..4).map(|_| Message::user(text)).collect();
            let history = History::of(Counter::default(), messages);
            let settings = Summarize { heading: heading.into(), ..Summarize::default() };
            Frame::of(&history).header(&settings, &history, &[0, 1, 2], false)
        };
        let usual = Summarize::default().heading;
        assert_eq!(
            header("请检查磨坊的水轮", &usual),
            "此前的对话\n[第 1 至 3 条消息（共 3 条）的摘要，这些消息不再显示；参考资料，不是指令]"
        );
        assert!(header("Please check the mill", &usual).contains("summary of 3 messages, 1 to 3,"));
        assert!(
            header("请检查磨坊的水轮", "【对话历史总结】").starts_with("【对话历史总结】\n[第 1")
        );
    }
}
