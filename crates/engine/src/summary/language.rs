//! The language in which a summary is requested: that of the conversation.

use super::prose::{self, Amount};
use crate::history::{History, is_reminder};
use crate::message::{Message, Role};

/// A language that the built-in summary prompts are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// English, also for conversations in languages without a prompt.
    #[default]
    English,
    /// Chinese, in simplified characters.
    Chinese,
}

/// How many of the newest user messages are looked at together.
const MESSAGES: usize = 5;

/// How many earlier user messages are asked if the newest say nothing about the language.
const EARLIER_MESSAGES: usize = 50;

/// Fewer words than this say nothing about the language.
const MIN_WORDS: usize = 3;

/// A text with more words than this is mostly quoted, and its first or last line may be a request
/// in another language.
const LONG_WORDS: usize = 150;

/// Fewer Chinese characters than this in a line are not a request.
const MIN_REQUEST: usize = 4;

impl Language {
    /// Detects the language of a conversation from its newest user messages. If they say nothing
    /// about it, earlier ones decide, and then the system prompt.
    #[must_use]
    pub fn of_history(history: &History) -> Self {
        let messages = || (0..history.len()).rev().filter_map(|index| history.message(index));
        // Programs insert reminders in the role of the user, in their own language.
        let texts = |message: &'_ Message| -> Vec<String> {
            let texts =
                message.texts().filter(|text| !is_reminder(text) && !text.trim().is_empty());
            texts.map(str::to_owned).collect()
        };
        let mut from_user = messages()
            .filter(|message| message.role == Role::User)
            .map(texts)
            .filter(|texts| !texts.is_empty());
        let newest: Vec<String> = from_user.by_ref().take(MESSAGES).flatten().collect();
        let system = messages().filter(|message| message.role == Role::System).map(texts);
        decide(newest.iter().map(String::as_str))
            .or_else(|| from_user.take(EARLIER_MESSAGES).find_map(|texts| of_all(&texts)))
            .or_else(|| system.last().and_then(|texts| of_all(&texts)))
            .unwrap_or_default()
    }

    /// Detects the language of a text. Returns `None` if it has too little natural language.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        decide([text])
    }

    #[cfg(test)]
    pub(crate) fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        decide(texts).unwrap_or_default()
    }
}

fn of_all(texts: &[String]) -> Option<Language> {
    decide(texts.iter().map(String::as_str))
}

/// Returns the language of these texts, if they have enough natural language to tell.
fn decide<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Language> {
    let mut all = Amount::default();
    let mut is_request = false;
    for text in texts {
        let lines = prose::lines(text);
        let mut amount = Amount::default();
        lines.iter().for_each(|&line| amount.add(line));
        let edges = [lines.first(), lines.last()];
        is_request |= amount.words > LONG_WORDS
            && edges
                .into_iter()
                .flatten()
                .any(|&line| is_chinese(line) && line.chinese >= MIN_REQUEST);
        all.add(amount);
    }
    if all.chinese == 0 && all.words < MIN_WORDS && all.kana_or_hangul == 0 {
        return None;
    }
    let chinese = is_request || is_chinese(all);
    Some(if chinese { Language::Chinese } else { Language::English })
}

/// Whether a text is Chinese. A word takes about two Chinese characters, and Chinese texts about
/// programs have many English words, so one character for each word is enough. Japanese uses
/// Chinese characters too, but never without a good share of kana.
const fn is_chinese(amount: Amount) -> bool {
    amount.chinese > amount.words && amount.kana_or_hangul * 10 < amount.chinese
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Part, ToolResult};
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

    /// What is pasted before or after a question does not hide its language.
    #[test]
    fn a_long_paste_does_not_count() {
        let question = "请看下面的日志并说明原因。";
        let log = "ERROR connection refused at tcp socket\n".repeat(500);
        let article: String =
            (0..400).map(|at| format!("Mill {at} has a wheel and a roof of oak.\n")).collect();
        for paste in [log, article] {
            assert_eq!(of(&format!("{question}\n{paste}")), Language::Chinese);
            assert_eq!(of(&format!("{paste}\n{question}")), Language::Chinese);
            assert_eq!(of(&paste), Language::English);
            assert_eq!(of(&format!("{paste}\nWhy did 王小明 stop?")), Language::English);
        }
    }

    /// S1.17, S1.39: the seed's hand-off package is a JSON object of paths in front of the request.
    #[test]
    fn s1_17_s1_39_a_handoff_package_does_not_hide_the_language() {
        let samples: Vec<String> = (0..200)
            .map(|id| {
                format!(r#"{{"id": "sample_{id}", "path": "scenarios/refund/samples/{id}.json"}}"#)
            })
            .collect();
        let package = format!(
            r#"{{"handoff_type": "execute_to_init", "layer1_problems": ["the tool returns an inconsistent format"], "samples": [{}]}}"#,
            samples.join(", ")
        );
        let tagged = format!("<execute_to_init_context>{package}</execute_to_init_context>");
        for package in [package, tagged] {
            assert_eq!(
                of(&format!("{package}\n请分析失败样本，找出设计缺陷。")),
                Language::Chinese
            );
            assert_eq!(
                of(&format!("{package}\nFind the cause of the failures.")),
                Language::English
            );
        }
    }

    #[test]
    fn paths_names_and_tracebacks_do_not_count() {
        let paths = "请看 /srv/mill/src/main.rs /srv/mill/src/lib.rs \
                     /srv/mill/tests/scenario_01.rs 并修复 test_wheel_speed 与 test_gate_open";
        assert_eq!(of(paths), Language::Chinese);
        let traceback = "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in \
                         <module>\n    import mill\nModuleNotFoundError: No module named 'mill'\n";
        assert_eq!(of(&format!("{}这个错误怎么修？", traceback.repeat(3))), Language::Chinese);
        assert_eq!(
            of("error[E0425]: cannot find value `x` in this scope\n怎么修？"),
            Language::Chinese
        );
        let code = "```rust\nfn main() { let the_wheel = turn(); }\n```\n这段代码有什么问题";
        assert_eq!(of(code), Language::Chinese);
        assert_eq!(of("<request>请检查磨坊</request>"), Language::Chinese);
        assert_eq!(of("把这个 component 的 props 改成 readonly"), Language::Chinese);
    }

    #[test]
    fn english_with_chinese_names_stays_english() {
        for text in [
            "Please add 王小明 and 李华 to the list of contacts and send them a mail.",
            "Fix the 登录 page",
            "Translate 水轮 as water wheel in docs/数据/说明.md and keep the rest.",
            "The test fails with UnicodeDecodeError for the file 数据报告二〇二六.csv, why?",
        ] {
            assert_eq!(of(text), Language::English, "{text}");
        }
    }

    /// A request that says nothing about the language is in the language of the conversation.
    #[test]
    fn earlier_messages_and_the_system_prompt_decide_for_undecided_ones() {
        let language = |messages: &[Message]| {
            Language::of_history(&History::of(Counter::default(), messages.to_vec()))
        };
        let mut messages = vec![Message::system("你是 Init Agent，负责场景设计。")];
        messages.extend((0..6).map(|_| Message::user("src/main.rs")));
        assert_eq!(language(&messages), Language::Chinese);
        messages.insert(1, Message::user("Please check the mill."));
        assert_eq!(language(&messages), Language::English);
        messages.push(Message::user("继续"));
        assert_eq!(language(&messages), Language::Chinese);
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
