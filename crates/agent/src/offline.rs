//! The offline model, a stand-in for a language model. It quotes messages of the session and the
//! memory that match a question, carries out a few simple requests with tools, and says what it is.
//! It is enough to try everything else without an API key.

mod phrases;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use waterline::message::{Message, Role, ToolCall};
use waterline::model;
use waterline_log::Log;
use waterline_memory::{Memory, Remembered, Source};
use waterline_provider::answer::{Answer, Delta, Stop, Usage};
use waterline_provider::{Event, EventStream, Model, Request, wire};
use waterline_session::{ModelTarget, WindowSource};

use self::phrases::{Phrases, is_chinese, phrases};
use crate::environment::without_notes;
use crate::tool::{LIST_FILES, READ_FILE};

/// The name of the offline model.
pub const NAME: &str = "offline";

/// Maximum length of a quotation.
const QUOTE_CHARS: usize = 300;

/// Maximum length of a quoted tool result.
const RESULT_CHARS: usize = 4_000;

/// Maximum number of quotations.
const MAX_QUOTES: usize = 4;

/// How to connect a real model, which the offline model adds to its description of itself.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// For questions in English, or in a language without its own hints.
    pub english: String,
    /// In Chinese, for questions in Chinese.
    pub chinese: String,
}

/// The offline model. Without a log it knows only the context of each call.
#[derive(Clone, Debug, Default)]
pub struct Offline {
    hints: Hints,
    sources: Option<Sources>,
}

/// The sources of quotations.
#[derive(Clone, Debug)]
struct Sources {
    log: Log,
    memory: Option<Arc<Memory>>,
}

impl Sources {
    /// Returns the memory of the owner of a session. Blocks.
    fn memory(&self, session: Option<&str>) -> Option<Memory> {
        let session = session.and_then(|id| self.log.session(id).ok());
        let owner = session.and_then(|session| session.user);
        self.memory.as_ref().map(|memory| memory.of_owner(owner.as_deref()))
    }
}

impl Offline {
    /// Returns the offline model.
    #[must_use]
    pub fn new(hints: Hints) -> Self {
        Self { hints, sources: None }
    }

    /// Returns the offline model of a log: it quotes from the sessions there and from a memory.
    #[must_use]
    pub fn of_log(self, log: Log, memory: Option<Arc<Memory>>) -> Self {
        Self { sources: Some(Sources { log, memory }), ..self }
    }

    /// Returns the offline model as a target for session configurations.
    #[must_use]
    pub fn target(&self) -> ModelTarget {
        let source = WindowSource::Catalog;
        ModelTarget { window_source: source, ..ModelTarget::new(NAME, self.clone()) }
    }
}

impl Model for Offline {
    fn call(&self, request: Request<'_>) -> EventStream {
        let call = Call::new(self, &request);
        Box::pin(stream::once(call.answer()).flat_map(|answer| {
            let texts = answer.messages.iter().map(Message::text).filter(|text| !text.is_empty());
            let deltas = texts.map(|text| Ok(Event::Delta(Delta::Text(text)))).collect::<Vec<_>>();
            stream::iter(deltas.into_iter().chain([Ok(Event::Answer(answer))]))
        }))
    }

    fn can_summarize(&self) -> bool {
        false
    }
}

/// One call, with all data needed to answer it.
struct Call {
    newest: Option<Message>,
    phrases: &'static Phrases,
    /// Whether the context already contains the long description.
    is_known: bool,
    tools: Vec<String>,
    tokens: usize,
    messages: usize,
    session: Option<String>,
    hint: String,
    sources: Option<Sources>,
}

/// Returns the text of a message without the program's notes.
fn written(message: &Message) -> String {
    let texts: Vec<&str> = message.texts().map(without_notes).collect();
    texts.join("\n")
}

impl Call {
    fn new(offline: &Offline, request: &Request<'_>) -> Self {
        let counter = model::Models::builtin().unknown().counter();
        let messages: usize = request.messages.iter().map(|message| counter.message(message)).sum();
        let tools: usize = request.tools.iter().map(|tool| counter.tool(tool)).sum();
        let is_question = |message: &&&Message| message.role == Role::User && message.has_text();
        let questions = request.messages.iter().rev().filter(is_question);
        let is_chinese = is_chinese(questions.map(|message| written(message)));
        let phrases = phrases(is_chinese);
        Self {
            phrases,
            newest: request.messages.last().map(|message| (*message).clone()),
            is_known: request
                .messages
                .iter()
                .any(|message| message.text().contains(&phrases.about)),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            tokens: messages + tools,
            messages: request.messages.len(),
            session: request.session.map(str::to_owned),
            hint: if is_chinese { &offline.hints.chinese } else { &offline.hints.english }.clone(),
            sources: offline.sources.clone(),
        }
    }

    async fn answer(self) -> Answer {
        let message = match &self.newest {
            Some(message) if message.results().next().is_some() => self.report(message),
            Some(message) => self.reply(written(message).trim()).await,
            None => Message::assistant(self.about()),
        };
        let stop = if message.calls().next().is_some() { Stop::Calls } else { Stop::End };
        let output = model::Models::builtin().unknown().counter().message(&message);
        let usage = Usage { input: self.tokens, output, ..Usage::default() };
        Answer { messages: vec![message], stop, usage, model: Some(NAME.to_owned()) }
    }

    /// Returns a message with the results of the tools.
    fn report(&self, message: &Message) -> Message {
        let Phrases { tool, returned, failed, .. } = self.phrases;
        let lines = message.results().map(|result| {
            let what = result.name.as_deref().unwrap_or(tool);
            let how = if result.is_error { failed } else { returned };
            format!("{what} {how}\n{}", verbatim(&truncate(&result.text(), RESULT_CHARS)))
        });
        Message::assistant(lines.collect::<Vec<_>>().join("\n\n"))
    }

    fn about(&self) -> String {
        let Phrases { about, space, .. } = self.phrases;
        format!("{about}{space}{}", self.hint).trim_end().to_owned()
    }

    async fn reply(&self, question: &str) -> Message {
        let has = |tool: &str| self.tools.iter().any(|known| known == tool);
        let text = match parse_request(question) {
            Some(SimpleRequest::List(path)) if has(LIST_FILES) => {
                let path = path.map_or_else(
                    || serde_json::json!({}),
                    |path| serde_json::json!({ "path": path }),
                );
                return self.call(LIST_FILES, &path);
            }
            Some(SimpleRequest::Read(path)) if has(READ_FILE) => {
                return self.call(READ_FILE, &serde_json::json!({ "path": path }));
            }
            Some(SimpleRequest::Remember(what)) => self.remember(what).await,
            _ => self.quote(question).await,
        };
        Message::assistant(text)
    }

    fn call(&self, tool: &str, arguments: &serde_json::Value) -> Message {
        Message::assistant_with_calls(
            "",
            [ToolCall::new(format!("offline_{}", self.messages), tool, arguments.to_string())],
        )
    }

    async fn remember(&self, what: &str) -> String {
        let text = what.to_owned();
        let session = self.session.clone();
        let remember = move |sources: &Sources| {
            let memory = sources.memory(session.as_deref())?;
            let source = session.and_then(|id| newest(&sources.log, id).ok());
            Some(memory.remember(&text, source))
        };
        match self.read(remember).await {
            Some(Some(Ok(_))) => format!("{}{what}", self.phrases.saved),
            Some(Some(Err(error))) => format!("{}{error}", self.phrases.not_saved),
            Some(None) => format!("{}{what}", self.phrases.logged),
            None if self.sources.is_none() => format!("{}{what}", self.phrases.logged),
            None => self.phrases.ending.clone(),
        }
    }

    /// Runs work on the sources on one of the log's threads. Returns `None` without sources, or if
    /// the program is ending.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Sources) -> T + Send + 'static,
    ) -> Option<T> {
        let sources = self.sources.clone()?;
        let log = sources.log.handle();
        log.run(move |_| Ok(work(&sources))).await.ok()
    }

    /// Quotes what the session and the memory contain about a question.
    async fn quote(&self, question: &str) -> String {
        let mut quotes = self.matching_messages(question).await;
        let Phrases { brief, nothing, matching, .. } = self.phrases;
        let remembered = self.remembered(question).await.into_iter();
        quotes.extend(remembered.map(|line| format!("- {}", self.phrases.memory(&line))));
        let about = if self.is_known { (*brief).to_owned() } else { self.about() };
        if quotes.is_empty() {
            return format!("{nothing}\n\n{about}");
        }
        format!("{matching}\n{}\n\n{about}", quotes.join("\n"))
    }

    /// Returns messages of the session that contain words of the question.
    async fn matching_messages(&self, question: &str) -> Vec<String> {
        let Some(id) = self.session.clone() else { return Vec::new() };
        let words = words(question);
        let find = move |sources: &Sources| {
            let session = sources.log.session(&id)?;
            let numbering = sources.log.numbering(&session)?;
            let tip = session.tip.position();
            let hits = words
                .iter()
                .map(|word| sources.log.search(word, Some(&id), MAX_QUOTES * 4))
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten();
            let earlier = hits.filter(|hit| hit.entry.position < tip).collect::<Vec<_>>();
            Ok::<_, waterline_log::LogError>((earlier, numbering))
        };
        let (hits, numbering) = self.read(find).await.and_then(Result::ok).unwrap_or_default();
        // Messages with the most matching words come first, then the newest.
        let mut passages: BTreeMap<u64, (u32, String)> = BTreeMap::new();
        for hit in hits {
            let message = hit.entry.message(wire::parse_stored);
            // Skips the model's own quotations and the system prompt.
            let is_own = message.role == Role::Assistant
                && [false, true].map(phrases).iter().any(|own| {
                    let text = message.text();
                    text.contains(&own.about) || text.contains(&own.brief)
                });
            let is_quotable = message.has_text() || hit.artifact.is_some();
            if is_own || message.role == Role::System || !is_quotable {
                continue;
            }
            let position = hit.entry.position;
            let quote = match &hit.artifact {
                Some(_) => hit.passage(question, QUOTE_CHARS, wire::parse_stored),
                None => truncate(&written(&message), QUOTE_CHARS),
            };
            let number = numbering.count(position);
            let line = format!("- {}", self.phrases.message(number, message.role, &quote));
            passages.entry(position).or_insert((0, line)).0 += hit.score / 100;
        }
        let mut ranked: Vec<(u64, (u32, String))> = passages.into_iter().collect();
        ranked.sort_by_key(|(position, (words, _))| std::cmp::Reverse((*words, *position)));
        ranked.into_iter().map(|(_, (_, line))| line).take(MAX_QUOTES).collect()
    }

    async fn remembered(&self, question: &str) -> Vec<Remembered> {
        let question = question.to_owned();
        let session = self.session.clone();
        let find = move |sources: &Sources| {
            sources.memory(session.as_deref())?.find(&question, MAX_QUOTES).ok()
        };
        self.read(find).await.flatten().unwrap_or_default()
    }
}

/// Returns a text as a code block, so that a terminal does not read file names as Markdown.
fn verbatim(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// Returns the newest message of a session, as the source of a memory.
fn newest(log: &Log, session: String) -> waterline_log::Result<Source> {
    let stored = log.session(&session)?;
    let message = log.numbering(&stored)?.count(stored.tip.position());
    Ok(Source::new(session, message))
}

/// Words that are too common to search for.
const COMMON: [&str; 24] = [
    "the", "and", "are", "was", "for", "you", "how", "who", "why", "can", "did", "has", "not",
    "what", "when", "where", "which", "with", "that", "this", "have", "does", "about", "there",
];

/// How a request may begin. It means nothing to the offline model.
const POLITE: [&str; 8] = ["please ", "hello, ", "hi, ", "你好", "您好", "请", "帮我", "麻烦"];

/// A request that the offline model can carry out.
#[derive(Debug, PartialEq, Eq)]
enum SimpleRequest<'a> {
    List(Option<&'a str>),
    Read(&'a str),
    Remember(&'a str),
}

/// Returns the words of a question that are worth searching for.
fn words(question: &str) -> Vec<String> {
    let words = question.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let is_relevant = |word: &String| word.len() > 2 && !COMMON.contains(&word.as_str());
    words.filter(is_relevant).collect()
}

/// Recognizes a request that the offline model can carry out.
fn parse_request(question: &str) -> Option<SimpleRequest<'_>> {
    let mut question = question;
    while let Some(rest) = POLITE.iter().find_map(|start| strip_start(question, start)) {
        question = rest.trim_start_matches([',', '，', '！', '!', ' ']);
    }
    let after = |prefixes: &[&str]| {
        let rest = prefixes
            .iter()
            .find_map(|prefix| strip_start(question, prefix))?
            .trim()
            .trim_end_matches(['?', '.', '!', '。', '？']);
        Some(rest.trim().trim_matches(['"', '`', '\'']))
    };
    if let Some(rest) = after(&["list files", "list the files", "ls", "列出文件"]) {
        let path = rest.trim_start_matches("in ").trim();
        return Some(SimpleRequest::List((!path.is_empty()).then_some(path)));
    }
    if let Some(rest) =
        after(&["remember that ", "remember: ", "remember this: ", "remember ", "记住"])
    {
        return (!rest.is_empty())
            .then_some(SimpleRequest::Remember(rest.trim_start_matches(['：', ':', ' '])));
    }
    let rest = after(&[
        "read the file ",
        "read file ",
        "read ",
        "show me ",
        "show ",
        "cat ",
        "读取文件",
        "打开文件",
        "读取",
        "打开",
    ])?;
    let rest = rest.trim_end_matches("文件").trim();
    (!rest.is_empty() && !rest.contains(char::is_whitespace)).then_some(SimpleRequest::Read(rest))
}

/// Removes the start of a text, in any case.
fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start).then(|| text.get(start.len()..)).flatten()
}

fn truncate(text: &str, chars: usize) -> String {
    let text = text.trim();
    let short: String = text.chars().take(chars).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_requests_are_recognized_and_others_are_not() {
        assert_eq!(parse_request("list files"), Some(SimpleRequest::List(None)));
        assert_eq!(parse_request("List the files in src?"), Some(SimpleRequest::List(Some("src"))));
        assert_eq!(parse_request("列出文件"), Some(SimpleRequest::List(None)));
        assert_eq!(parse_request("你好，请列出文件"), Some(SimpleRequest::List(None)));
        assert_eq!(parse_request("Please list files"), Some(SimpleRequest::List(None)));
        assert_eq!(parse_request("read `src/main.rs`."), Some(SimpleRequest::Read("src/main.rs")));
        assert_eq!(parse_request("read between the lines"), None);
        for read in ["读取 notes.txt", "读取 notes.txt 文件。", "读取文件 notes.txt"] {
            assert_eq!(parse_request(read), Some(SimpleRequest::Read("notes.txt")), "{read}");
        }
        assert_eq!(
            parse_request("Remember that the door code is 4711"),
            Some(SimpleRequest::Remember("the door code is 4711"))
        );
        assert_eq!(parse_request("记住：我喜欢茶"), Some(SimpleRequest::Remember("我喜欢茶")));
        assert_eq!(parse_request("what is the door code?"), None);
    }
}
