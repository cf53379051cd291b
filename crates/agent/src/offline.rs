//! The offline model, a stand-in for a language model. It quotes messages of the session and the
//! memory that match a question, carries out a few simple requests with tools, and says what it is.
//! It is enough to try everything else without an API key.

mod phrases;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt as _, stream};
use waterline::message::{Message, Role, ToolCall};
use waterline::model;
use waterline_log::Log;
use waterline_memory::{Memory, Remembered, Source};
use waterline_provider::answer::{Answer, Delta, Stop, Usage};
use waterline_provider::{Event, EventStream, Model, Request, wire};
use waterline_session::{ModelTarget, WindowSource};

use self::phrases::{CHINESE, ENGLISH, Phrases, phrases_for};
use crate::environment::without_notes;

/// The name of the offline model.
pub const NAME: &str = "offline";

/// Maximum length of a quotation.
const QUOTE_CHARS: usize = 300;

/// Maximum length of a quoted tool result.
const RESULT_CHARS: usize = 4_000;

/// Maximum number of quotations.
const MAX_QUOTES: usize = 4;

/// The offline model. Until it is connected to a log, it knows only the context of each call.
#[derive(Clone, Debug, Default)]
pub struct Offline {
    hint: String,
    /// Shared by all clones: models are chosen before the log is opened.
    sources: Arc<OnceLock<Sources>>,
}

/// The sources of quotations.
#[derive(Clone, Debug)]
struct Sources {
    log: Log,
    memory: Option<Arc<Memory>>,
}

impl Offline {
    /// Returns the offline model. `hint` says how to connect a real model; it is added to the
    /// model's description of itself.
    pub fn new(hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), sources: Arc::default() }
    }

    /// Returns the offline model as a target for session configurations.
    #[must_use]
    pub fn target(&self) -> ModelTarget {
        let source = WindowSource::Catalogue;
        ModelTarget { window_source: source, ..ModelTarget::new(NAME, self.clone()) }
    }

    /// Lets this model and its clones quote from a log and from a memory. The first log counts.
    /// An agent connects the model of its configuration
    /// ([`AgentConfig::offline`](crate::AgentConfig::offline)) when it opens its session.
    pub fn connect(&self, log: &Log, memory: Option<Arc<Memory>>) {
        // An error means it is connected already, to the same log.
        drop(self.sources.set(Sources { log: log.clone(), memory }));
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

    fn can_summarise(&self) -> bool {
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
        let question = request.messages.iter().rev().find(is_question);
        let phrases = phrases_for(&question.map(|message| written(message)).unwrap_or_default());
        Self {
            phrases,
            newest: request.messages.last().map(|message| (*message).clone()),
            is_known: request.messages.iter().any(|message| message.text().contains(phrases.about)),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            tokens: messages + tools,
            messages: request.messages.len(),
            session: request.session.map(str::to_owned),
            hint: offline.hint.clone(),
            sources: offline.sources.get().cloned(),
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
            format!("{what} {how}:\n{}", truncate(&result.text(), RESULT_CHARS))
        });
        Message::assistant(lines.collect::<Vec<_>>().join("\n\n"))
    }

    fn about(&self) -> String {
        format!("{} {}", self.phrases.about, self.hint).trim_end().to_owned()
    }

    async fn reply(&self, question: &str) -> Message {
        let has = |tool: &str| self.tools.iter().any(|known| known == tool);
        let text = match parse_request(question) {
            Some(SimpleRequest::List(path)) if has("list_files") => {
                let path = path.map_or_else(
                    || serde_json::json!({}),
                    |path| serde_json::json!({ "path": path }),
                );
                return self.call("list_files", &path);
            }
            Some(SimpleRequest::Read(path)) if has("read_file") => {
                return self.call("read_file", &serde_json::json!({ "path": path }));
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
        let sources = self.sources.clone();
        let Some((memory, log)) = sources.and_then(|from| Some((from.memory?, from.log))) else {
            return format!("{}{what}", self.phrases.logged);
        };
        let text = what.to_owned();
        let session = self.session.clone();
        let remember = move || {
            let source = session.and_then(|id| newest(&log, id).ok());
            memory.remember(&text, source)
        };
        match tokio::task::spawn_blocking(remember).await {
            Ok(Ok(_)) => format!("{}{what}", self.phrases.saved),
            Ok(Err(error)) => format!("{}{error}", self.phrases.not_saved),
            Err(_) => self.phrases.ending.to_owned(),
        }
    }

    /// Quotes what the session and the memory contain about a question.
    async fn quote(&self, question: &str) -> String {
        let mut quotes = self.matching_messages(question).await;
        let Phrases { brief, nothing, matching, memory, .. } = self.phrases;
        let remembered = self.remembered(question).await.into_iter();
        quotes.extend(remembered.map(|line| format!("- {memory}, {line}")));
        let about = if self.is_known { (*brief).to_owned() } else { self.about() };
        if quotes.is_empty() {
            return format!("{nothing}\n\n{about}");
        }
        format!("{matching}\n{}\n\n{about}", quotes.join("\n"))
    }

    /// Returns messages of the session that contain words of the question.
    async fn matching_messages(&self, question: &str) -> Vec<String> {
        let (Some(sources), Some(id)) = (self.sources.clone(), self.session.clone()) else {
            return Vec::new();
        };
        let words = words(question);
        let found = tokio::task::spawn_blocking(move || {
            let session = sources.log.session(&id)?;
            let numbering = sources.log.numbering(&session)?;
            let tip = session.tip.position();
            let hits = words.iter().map(|word| sources.log.search(word, Some(&id), MAX_QUOTES * 4));
            let hits = hits.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
            let earlier = hits.filter(|hit| hit.entry.position < tip).collect::<Vec<_>>();
            Ok::<_, waterline_log::LogError>((earlier, numbering))
        });
        let (hits, numbering) = found.await.ok().and_then(Result::ok).unwrap_or_default();
        // Messages with the most matching words come first, then the newest.
        let mut passages: BTreeMap<u64, (u32, String)> = BTreeMap::new();
        for hit in hits {
            let message = hit.entry.message(wire::parse_stored);
            // Skips the model's own quotations and the system prompt.
            let is_own = message.role == Role::Assistant
                && [&ENGLISH, &CHINESE].iter().any(|own| {
                    let text = message.text();
                    text.contains(own.about) || text.contains(own.brief)
                });
            let is_quotable = message.has_text() || hit.artifact.is_some();
            if is_own || message.role == Role::System || !is_quotable {
                continue;
            }
            let position = hit.entry.position;
            let role = message.role.name();
            let quote = match &hit.artifact {
                Some(_) => hit.passage(question, QUOTE_CHARS, wire::parse_stored),
                None => truncate(&written(&message), QUOTE_CHARS),
            };
            let number = numbering.count(position);
            let line = format!("- {} {number}, {role}: {quote}", self.phrases.message);
            passages.entry(position).or_insert((0, line)).0 += hit.score / 100;
        }
        let mut ranked: Vec<(u64, (u32, String))> = passages.into_iter().collect();
        ranked.sort_by_key(|(position, (words, _))| std::cmp::Reverse((*words, *position)));
        ranked.into_iter().map(|(_, (_, line))| line).take(MAX_QUOTES).collect()
    }

    async fn remembered(&self, question: &str) -> Vec<String> {
        let Some(memory) = self.sources.as_ref().and_then(|sources| sources.memory.clone()) else {
            return Vec::new();
        };
        let question = question.to_owned();
        let found = tokio::task::spawn_blocking(move || memory.find(&question, MAX_QUOTES)).await;
        let lines = found.ok().and_then(Result::ok).unwrap_or_default();
        let mark = |line: &Remembered| if line.is_superseded { ", superseded" } else { "" };
        lines.iter().map(|line| format!("{}{}: {}", line.place, mark(line), line.text)).collect()
    }
}

/// Returns the newest message of a session, as the source of a memory.
fn newest(log: &Log, session: String) -> waterline_log::Result<Source> {
    let stored = log.session(&session)?;
    let message = log.numbering(&stored)?.count(stored.tip.position());
    Ok(Source { session, message })
}

/// Words that are too common to search for.
const COMMON: [&str; 24] = [
    "the", "and", "are", "was", "for", "you", "how", "who", "why", "can", "did", "has", "not",
    "what", "when", "where", "which", "with", "that", "this", "have", "does", "about", "there",
];

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
    let after = |prefixes: &[&str]| {
        let rest = prefixes.iter().find_map(|&prefix| {
            let head = question.get(..prefix.len())?;
            head.eq_ignore_ascii_case(prefix).then(|| question.get(prefix.len()..)).flatten()
        })?;
        let rest = rest.trim().trim_end_matches(['?', '.', '!', '。', '？']);
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
        "读取",
        "打开",
    ])?;
    (!rest.is_empty() && !rest.contains(char::is_whitespace)).then_some(SimpleRequest::Read(rest))
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
        assert_eq!(parse_request("read `src/main.rs`."), Some(SimpleRequest::Read("src/main.rs")));
        assert_eq!(parse_request("read between the lines"), None);
        assert_eq!(
            parse_request("Remember that the door code is 4711"),
            Some(SimpleRequest::Remember("the door code is 4711"))
        );
        assert_eq!(parse_request("记住：我喜欢茶"), Some(SimpleRequest::Remember("我喜欢茶")));
        assert_eq!(parse_request("what is the door code?"), None);
    }
}
