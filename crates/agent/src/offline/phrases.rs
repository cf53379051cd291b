//! The sentences of the offline model. They are a model's output, so they follow the language of the
//! question and not that of the program.

use waterline::tokens::is_cjk;

/// The sentences of the offline model in one language.
#[derive(Debug)]
pub(super) struct Phrases {
    pub(super) about: &'static str,
    /// The short form, if the conversation already contains the long one.
    pub(super) brief: &'static str,
    pub(super) nothing: &'static str,
    pub(super) matching: &'static str,
    pub(super) message: &'static str,
    pub(super) memory: &'static str,
    pub(super) logged: &'static str,
    pub(super) saved: &'static str,
    pub(super) not_saved: &'static str,
    pub(super) ending: &'static str,
    pub(super) tool: &'static str,
    pub(super) returned: &'static str,
    pub(super) failed: &'static str,
}

pub(super) const ENGLISH: Phrases = Phrases {
    about: "I am the offline model: no language model is connected, so I can only quote earlier \
            messages and carry out a few simple requests (remember …; with tools also list files, \
            read FILE).",
    brief: "(I am the offline model: I can only quote.)",
    nothing: "Nothing in this session or the memory matches.",
    matching: "Matching messages:",
    message: "message",
    memory: "memory",
    logged: "Stored in this session's log: ",
    saved: "Saved to memory: ",
    not_saved: "Stored in this session's log, but not in the memory: ",
    ending: "The program is shutting down.",
    tool: "the tool",
    returned: "returned",
    failed: "failed",
};

pub(super) const CHINESE: Phrases = Phrases {
    about: "我是离线模型：没有连接语言模型，只能引用之前的消息，并执行少数简单请求（记住……；有工具时还可\
            列出文件、读取文件）。",
    brief: "（我是离线模型，只能引用。）",
    nothing: "本会话和记忆中没有匹配的内容。",
    matching: "匹配的消息：",
    message: "消息",
    memory: "记忆",
    logged: "已存入本会话的日志：",
    saved: "已存入记忆：",
    not_saved: "已存入本会话的日志，但未存入记忆：",
    ending: "程序正在退出。",
    tool: "工具",
    returned: "返回",
    failed: "失败",
};

/// Returns the sentences in the language of a question.
pub(super) fn phrases_for(question: &str) -> &'static Phrases {
    let is_kana = |c: char| ('\u{3040}'..='\u{30ff}').contains(&c);
    let is_hangul = |c: char| ('\u{ac00}'..='\u{d7af}').contains(&c);
    let is_chinese =
        question.chars().any(is_cjk) && !question.chars().any(|c| is_kana(c) || is_hangul(c));
    if is_chinese { &CHINESE } else { &ENGLISH }
}
