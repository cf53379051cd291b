//! The language in which a summary is requested: that of the conversation.

use crate::history::{History, is_reminder};
use crate::message::Role;
use crate::tokens::is_cjk;

/// A language that the built-in summary prompts are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// English, also for conversations in languages without a prompt.
    #[default]
    English,
    /// Chinese.
    Chinese,
}

/// How many of the newest user messages are looked at.
const MESSAGES: usize = 5;

/// How many characters of each message are looked at: a pasted file says little about the language.
const CHARS: usize = 1_000;

/// The share of Chinese characters, in percent of all letters, that makes a conversation Chinese.
/// It is low because a Chinese character carries about as much meaning as an English word, and
/// because code and paths are ASCII in every language.
const CHINESE_PERCENT: usize = 20;

impl Language {
    /// Detects the language of a conversation from its newest user messages.
    #[must_use]
    pub fn of_history(history: &History) -> Self {
        let newest = (0..history.len()).rev().filter_map(|index| history.message(index));
        let from_user = newest.filter(|message| message.role == Role::User);
        // Programs insert reminders in the role of the user, in their own language.
        let written = from_user
            .map(|message| message.texts().filter(|text| !is_reminder(text)).collect::<Vec<_>>())
            .filter(|texts| texts.iter().any(|text| !text.trim().is_empty()));
        Self::of_texts(written.take(MESSAGES).flatten())
    }

    /// Detects the language of these texts.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut letters = 0;
        let mut chinese = 0;
        let mut other_cjk = 0;
        for text in texts {
            for character in text.chars().take(CHARS).filter(|character| character.is_alphabetic())
            {
                letters += 1;
                if is_kana_or_hangul(character) {
                    other_cjk += 1;
                } else if is_cjk(character) {
                    chinese += 1;
                }
            }
        }
        // Japanese uses Chinese characters too, but never without a good share of kana.
        let is_chinese = chinese * 100 > letters * CHINESE_PERCENT && other_cjk * 10 < chinese;
        if is_chinese { Self::Chinese } else { Self::English }
    }
}

const fn is_kana_or_hangul(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11FF}'
            | '\u{3040}'..='\u{30FF}'
            | '\u{3130}'..='\u{318F}'
            | '\u{31F0}'..='\u{31FF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{FF66}'..='\u{FF9D}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Message, Part, ToolResult};
    use crate::tokens::Counter;

    fn of(text: &str) -> Language {
        Language::of_texts([text])
    }

    #[test]
    fn the_share_of_chinese_characters_decides() {
        assert_eq!(of("Why does the build fail?"), Language::English);
        assert_eq!(of("为什么构建失败了？"), Language::Chinese);
        assert_eq!(of("请修复 src/main.rs 中的 bug，然后运行 cargo test"), Language::Chinese);
        assert_eq!(of("Rename 数据.txt to data.txt and update the links"), Language::English);
        assert_eq!(of(""), Language::English);
        assert_eq!(of("12345 ... !?"), Language::English);
    }

    #[test]
    fn japanese_korean_and_other_languages_get_english() {
        assert_eq!(of("ビルドが失敗する理由を調べてください"), Language::English);
        assert_eq!(of("빌드가 실패하는 이유를 찾아 주세요"), Language::English);
        assert_eq!(of("Warum schlägt der Build fehl?"), Language::English);
    }

    /// A long paste at the end of a message does not hide the language of its first lines.
    #[test]
    fn only_the_beginning_of_a_message_counts() {
        let question = "请看下面的日志并说明原因。".repeat(20);
        let log = "ERROR connection refused at tcp socket\n".repeat(500);
        assert_eq!(of(&format!("{question}\n{log}")), Language::Chinese);
    }

    #[test]
    fn the_newest_user_messages_decide_without_tool_results_and_reminders() {
        let result = |text: &str| {
            let body = Body::Result(ToolResult::new("1", text));
            Message::new(Role::User, vec![body.into()])
        };
        let mut messages = vec![Message::user("Please look at the parser.")];
        messages.extend((0..MESSAGES).flat_map(|_| {
            [Message::user("请继续检查解析器"), Message::assistant("I am reading the parser now.")]
        }));
        messages.push(result("an English tool result that is much longer than the question"));
        let reminder = "<system-reminder>The task list is empty.</system-reminder>";
        messages.extend((0..MESSAGES).map(|_| Message::user(reminder)));
        let mut history = History::of(Counter::default(), messages);
        assert_eq!(Language::of_history(&history), Language::Chinese);
        for _ in 0..MESSAGES {
            history.append(Message::new(
                Role::User,
                vec![Part::text("Thanks, please continue in English.")],
            ));
        }
        assert_eq!(Language::of_history(&history), Language::English);
    }
}
