//! The built-in model: no language model at all. It quotes what the session and the memory hold on a question, carries out a
//! few plain requests with the tools it is given, and says what it is. Enough to try everything else without a key.

use std::collections::BTreeMap;

use waterline::message::{Message, Role};
use waterline_provider::answer::{Answer, Stop, Usage};

use crate::live::Live;
use crate::memory::Section;

/// Its name.
pub const NAME: &str = "offline";

/// How much of a text is quoted.
const QUOTE_CHARS: usize = 300;
const RESULT_CHARS: usize = 4_000;

/// How many quotations.
const QUOTES: usize = 4;

const ABOUT: &str = "I am the offline model: no language model is connected, so I can only quote what was said here and carry \
out a few plain requests (remember …; with tools also list files, read FILE). Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, start a \
local server, or name a model with --model and --base-url.";

/// The same for somebody who has read it.
const BRIEF: &str = "(I am the offline model: I can only quote.)";

/// Words that are in most questions.
const COMMON: [&str; 24] = [
    "the", "and", "are", "was", "for", "you", "how", "who", "why", "can", "did", "has", "not", "what", "when", "where",
    "which", "with", "that", "this", "have", "does", "about", "there",
];

/// A request that is plain enough.
#[derive(Debug, PartialEq, Eq)]
enum Plain<'a> {
    List(Option<&'a str>),
    Read(&'a str),
    Remember(&'a str),
}

/// Answers the newest message.
pub(crate) async fn answer(live: &Live) -> Answer {
    let newest: Vec<Message> = live.generation.context(&live.history).last().cloned().into_iter().collect();
    let message = match newest.first() {
        Some(message) if message.results().next().is_some() => report(message),
        Some(message) => reply(live, message.text().trim()).await,
        None => Message::text_of(Role::Assistant, ABOUT),
    };
    let stop = if message.calls().next().is_some() { Stop::Calls } else { Stop::End };
    let output = live.history.counter().message(&message);
    let usage = Usage { input: live.generation.tokens() + live.budget.tools, output, ..Usage::default() };
    Answer { messages: vec![message], stop, usage, model: Some(NAME.to_owned()) }
}

/// What the tools found.
fn report(message: &Message) -> Message {
    let lines = message.results().map(|result| {
        let what = result.name.as_deref().unwrap_or("the tool");
        let how = if result.is_error { "failed" } else { "says" };
        format!("{what} {how}:\n{}", cut(&result.text(), RESULT_CHARS))
    });
    Message::text_of(Role::Assistant, lines.collect::<Vec<_>>().join("\n\n"))
}

async fn reply(live: &Live, question: &str) -> Message {
    let has = |tool: &str| live.setup.tools.iter().any(|known| known.name == tool);
    let call = |tool: &str, arguments: serde_json::Value| {
        let id = format!("offline_{}", live.history.len());
        Message::call_of(id, tool, arguments.to_string())
    };
    match plain(question) {
        Some(Plain::List(path)) if has("list_files") => {
            call("list_files", path.map_or_else(|| serde_json::json!({}), |path| serde_json::json!({ "path": path })))
        }
        Some(Plain::Read(path)) if has("read_file") => call("read_file", serde_json::json!({ "path": path })),
        Some(Plain::Remember(what)) => Message::text_of(Role::Assistant, remember(live, what).await),
        _ => Message::text_of(Role::Assistant, quote(live, question).await),
    }
}

async fn remember(live: &Live, what: &str) -> String {
    let Some(memory) = live.setup.memory.clone() else {
        return format!("It is in this session's log: {what}");
    };
    let text = format!("- {what}");
    match tokio::task::spawn_blocking(move || memory.keep(Section::Notes, &text)).await {
        Ok(Ok(())) => format!("I wrote it down: {what}"),
        Ok(Err(error)) => format!("It is in this session's log, but not in the memory: {error}"),
        Err(_) => "The program is ending.".to_owned(),
    }
}

/// What session and memory hold on a question.
async fn quote(live: &Live, question: &str) -> String {
    let (id, own, words) = (live.session.id.clone(), live.session.tip.position(), words(question));
    let found = live.on_log(move |log| {
        let hits = words.iter().map(|word| log.search(word, Some(&id), QUOTES * 4));
        hits.collect::<Result<Vec<_>, _>>()
    });
    // What has most of the words comes first, and of equals what was said last.
    let mut passages: BTreeMap<u64, (usize, String)> = BTreeMap::new();
    for hit in found.await.unwrap_or_default().into_iter().flatten().filter(|hit| hit.entry.position < own) {
        let message = hit.entry.message(|text, wire, role| waterline_provider::wire::kept(&text, wire, role));
        // What this model said before is only what it quoted, and what the system says nobody asked for.
        let is_own =
            message.role == Role::Assistant && [ABOUT, BRIEF].iter().any(|about| message.text().contains(about));
        if is_own || message.role == Role::System || !message.has_text() {
            continue;
        }
        let line =
            format!("- message {}, {}: {}", hit.entry.position, message.role.name(), cut(&message.text(), QUOTE_CHARS));
        passages.entry(hit.entry.position).or_insert((0, line)).0 += 1;
    }
    let mut said: Vec<(u64, (usize, String))> = passages.into_iter().collect();
    said.sort_by_key(|(position, (words, _))| std::cmp::Reverse((*words, *position)));
    let said = said.into_iter().map(|(_, (_, line))| line);
    let mut quotes: Vec<String> = said.take(QUOTES).collect();
    quotes.extend(remembered(live, question).await.into_iter().map(|line| format!("- memory, {line}")));
    let is_known = live.generation.context(&live.history).any(|message| message.text().contains(ABOUT));
    let about = if is_known { BRIEF } else { ABOUT };
    if quotes.is_empty() {
        return format!("Nothing in this session or the memory is about that.\n\n{about}");
    }
    format!("What was said about that:\n{}\n\n{about}", quotes.join("\n"))
}

async fn remembered(live: &Live, question: &str) -> Vec<String> {
    let Some(memory) = live.setup.memory.clone() else { return Vec::new() };
    let words = words(question);
    let found = tokio::task::spawn_blocking(move || memory.find(&words, QUOTES)).await;
    found.ok().and_then(Result::ok).unwrap_or_default()
}

/// The words of a question that say something.
fn words(question: &str) -> Vec<String> {
    let words = question.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let says = |word: &String| word.len() > 2 && !COMMON.contains(&word.as_str());
    words.filter(says).collect()
}

/// A request that is plain enough to be carried out.
fn plain(question: &str) -> Option<Plain<'_>> {
    let after = |beginnings: &[&str]| {
        let rest = beginnings.iter().find_map(|&beginning| {
            let head = question.get(..beginning.len())?;
            head.eq_ignore_ascii_case(beginning).then(|| question.get(beginning.len()..)).flatten()
        })?;
        let rest = rest.trim().trim_end_matches(['?', '.', '!', '。', '？']);
        Some(rest.trim().trim_matches(['"', '`', '\'']))
    };
    if let Some(rest) = after(&["list files", "list the files", "ls", "列出文件"]) {
        let path = rest.trim_start_matches("in ").trim();
        return Some(Plain::List((!path.is_empty()).then_some(path)));
    }
    if let Some(rest) = after(&["remember that ", "remember: ", "remember this: ", "remember ", "记住"]) {
        return (!rest.is_empty()).then_some(Plain::Remember(rest.trim_start_matches(['：', ':', ' '])));
    }
    let rest = after(&["read the file ", "read file ", "read ", "show me ", "show ", "cat ", "读取", "打开"])?;
    (!rest.is_empty() && !rest.contains(char::is_whitespace)).then_some(Plain::Read(rest))
}

fn cut(text: &str, chars: usize) -> String {
    let text = text.trim();
    let short: String = text.chars().take(chars).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_requests_are_understood_and_others_are_not() {
        assert_eq!(plain("list files"), Some(Plain::List(None)));
        assert_eq!(plain("List the files in src?"), Some(Plain::List(Some("src"))));
        assert_eq!(plain("列出文件"), Some(Plain::List(None)));
        assert_eq!(plain("read `src/main.rs`."), Some(Plain::Read("src/main.rs")));
        assert_eq!(plain("read between the lines"), None);
        assert_eq!(plain("Remember that the door code is 4711"), Some(Plain::Remember("the door code is 4711")));
        assert_eq!(plain("记住：我喜欢茶"), Some(Plain::Remember("我喜欢茶")));
        assert_eq!(plain("what is the door code?"), None);
    }
}
