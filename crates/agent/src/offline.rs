//! The offline model: no language model at all. It quotes what the session and the memory hold on a
//! question, carries out a few plain requests with the tools it is given, and says what it is.
//! Enough to try everything else without a key.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt as _, stream};
use waterline::message::{Message, Role, ToolCall};
use waterline::model;
use waterline_log::Log;
use waterline_provider::answer::{Answer, Delta, Stop, Usage};
use waterline_provider::{Event, EventStream, Model, Request, wire};
use waterline_session::memory::{Section, Sink};
use waterline_session::{ModelTarget, SessionConfig};

/// Its name.
pub const NAME: &str = "offline";

/// How much of a text is quoted.
const QUOTE_CHARS: usize = 300;
const RESULT_CHARS: usize = 4_000;

/// How many quotations.
const QUOTES: usize = 4;

const ABOUT: &str = "I am the offline model: no language model is connected, so I can only quote what was said here and carry \
out a few plain requests (remember …; with tools also list files, read FILE).";

/// The same for a reader who has seen it.
const BRIEF: &str = "(I am the offline model: I can only quote.)";

/// The offline model. Until it is connected to a log it knows only the context that it is sent.
#[derive(Debug, Default)]
pub struct Offline {
    hint: String,
    sources: OnceLock<Sources>,
}

/// What it quotes from.
#[derive(Clone, Debug)]
struct Sources {
    log: Log,
    memory: Option<Arc<dyn Sink>>,
}

impl Offline {
    /// The offline model. `hint` tells the user how to connect a real one; it follows what the
    /// model says about itself.
    pub fn new(hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), sources: OnceLock::new() }
    }

    /// The offline model as sessions are set up with it.
    pub fn candidate(hint: impl Into<String>) -> ModelTarget {
        ModelTarget::new(NAME, Self::new(hint))
    }

    /// Lets the offline models of a setup quote from a log and from the setup's memory. Models are
    /// chosen before the log is open, so an agent does this when it opens its session.
    pub fn connect(setup: &SessionConfig, log: &Log) {
        let candidates = [&setup.model].into_iter().chain(&setup.fallback).chain(&setup.summariser);
        for candidate in candidates {
            let model: &dyn Any = &*candidate.model;
            if let Some(offline) = model.downcast_ref::<Self>() {
                let sources = Sources { log: log.clone(), memory: setup.memory.clone() };
                // Connected already: the same program opens one log.
                drop(offline.sources.set(sources));
            }
        }
    }
}

impl Model for Offline {
    fn call(&self, request: Request<'_>) -> EventStream {
        let asked = Asked::new(self, &request);
        Box::pin(stream::once(asked.answer()).flat_map(|answer| {
            let texts = answer.messages.iter().map(Message::text).filter(|text| !text.is_empty());
            let deltas = texts.map(|text| Ok(Event::Delta(Delta::Text(text)))).collect::<Vec<_>>();
            stream::iter(deltas.into_iter().chain([Ok(Event::Answer(answer))]))
        }))
    }

    fn can_summarise(&self) -> bool {
        false
    }
}

/// One call, with what is needed to answer it.
struct Asked {
    newest: Option<Message>,
    /// Whether the context already says what this model is.
    is_known: bool,
    tools: Vec<String>,
    tokens: usize,
    messages: usize,
    session: Option<String>,
    hint: String,
    sources: Option<Sources>,
}

impl Asked {
    fn new(offline: &Offline, request: &Request<'_>) -> Self {
        let counter = model::Models::builtin().unknown().counter();
        let messages: usize = request.messages.iter().map(|message| counter.message(message)).sum();
        let tools: usize = request.tools.iter().map(|tool| counter.tool(&tool.definition())).sum();
        Self {
            newest: request.messages.last().map(|message| (*message).clone()),
            is_known: request.messages.iter().any(|message| message.text().contains(ABOUT)),
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
            Some(message) if message.results().next().is_some() => report(message),
            Some(message) => self.reply(message.text().trim()).await,
            None => Message::assistant(self.about()),
        };
        let stop = if message.calls().next().is_some() { Stop::Calls } else { Stop::End };
        let output = model::Models::builtin().unknown().counter().message(&message);
        let usage = Usage { input: self.tokens, output, ..Usage::default() };
        Answer { messages: vec![message], stop, usage, model: Some(NAME.to_owned()) }
    }

    fn about(&self) -> String {
        format!("{ABOUT} {}", self.hint).trim_end().to_owned()
    }

    async fn reply(&self, question: &str) -> Message {
        let has = |tool: &str| self.tools.iter().any(|known| known == tool);
        let text = match plain(question) {
            Some(Plain::List(path)) if has("list_files") => {
                let path = path.map_or_else(
                    || serde_json::json!({}),
                    |path| serde_json::json!({ "path": path }),
                );
                return self.call("list_files", &path);
            }
            Some(Plain::Read(path)) if has("read_file") => {
                return self.call("read_file", &serde_json::json!({ "path": path }));
            }
            Some(Plain::Remember(what)) => self.remember(what).await,
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
        let Some(memory) = self.sources.as_ref().and_then(|sources| sources.memory.clone()) else {
            return format!("It is in this session's log: {what}");
        };
        let text = format!("- {what}");
        match tokio::task::spawn_blocking(move || memory.keep(Section::Notes, &text)).await {
            Ok(Ok(())) => format!("I wrote it down: {what}"),
            Ok(Err(error)) => {
                format!("It is in this session's log, but not in the memory: {error}")
            }
            Err(_) => "The program is ending.".to_owned(),
        }
    }

    /// What session and memory hold on a question.
    async fn quote(&self, question: &str) -> String {
        let mut quotes = self.said(question).await;
        quotes.extend(
            self.remembered(question).await.into_iter().map(|line| format!("- memory, {line}")),
        );
        let about = if self.is_known { BRIEF.to_owned() } else { self.about() };
        if quotes.is_empty() {
            return format!("Nothing in this session or the memory is about that.\n\n{about}");
        }
        format!("What was said about that:\n{}\n\n{about}", quotes.join("\n"))
    }

    /// Messages of the session with words of the question.
    async fn said(&self, question: &str) -> Vec<String> {
        let (Some(sources), Some(id)) = (self.sources.clone(), self.session.clone()) else {
            return Vec::new();
        };
        let words = words(question);
        let found = tokio::task::spawn_blocking(move || {
            let own = sources.log.session(&id)?.tip.position();
            let hits = words.iter().map(|word| sources.log.search(word, Some(&id), QUOTES * 4));
            let hits = hits.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
            Ok::<_, waterline_log::LogError>(
                hits.filter(|hit| hit.entry.position < own).collect::<Vec<_>>(),
            )
        });
        let hits = found.await.ok().and_then(Result::ok).unwrap_or_default();
        // What has most of the words comes first, and of equals what was said last.
        let mut passages: BTreeMap<u64, (usize, String)> = BTreeMap::new();
        for hit in hits {
            let message = hit.entry.message(wire::parse_stored);
            // What this model said before only quotes, and the system prompt answers no question.
            let is_own = message.role == Role::Assistant
                && [ABOUT, BRIEF].iter().any(|about| message.text().contains(about));
            if is_own || message.role == Role::System || !message.has_text() {
                continue;
            }
            let (position, role) = (hit.entry.position, message.role.name());
            let line =
                format!("- message {position}, {role}: {}", cut(&message.text(), QUOTE_CHARS));
            passages.entry(position).or_insert((0, line)).0 += 1;
        }
        let mut said: Vec<(u64, (usize, String))> = passages.into_iter().collect();
        said.sort_by_key(|(position, (words, _))| std::cmp::Reverse((*words, *position)));
        said.into_iter().map(|(_, (_, line))| line).take(QUOTES).collect()
    }

    async fn remembered(&self, question: &str) -> Vec<String> {
        let Some(memory) = self.sources.as_ref().and_then(|sources| sources.memory.clone()) else {
            return Vec::new();
        };
        let words = words(question);
        let found = tokio::task::spawn_blocking(move || memory.find(&words, QUOTES)).await;
        found.ok().and_then(Result::ok).unwrap_or_default()
    }
}

/// Words that are in most questions.
const COMMON: [&str; 24] = [
    "the", "and", "are", "was", "for", "you", "how", "who", "why", "can", "did", "has", "not",
    "what", "when", "where", "which", "with", "that", "this", "have", "does", "about", "there",
];

/// A request that is plain enough.
#[derive(Debug, PartialEq, Eq)]
enum Plain<'a> {
    List(Option<&'a str>),
    Read(&'a str),
    Remember(&'a str),
}

/// What the tools found.
fn report(message: &Message) -> Message {
    let lines = message.results().map(|result| {
        let what = result.name.as_deref().unwrap_or("the tool");
        let how = if result.is_error { "failed" } else { "says" };
        format!("{what} {how}:\n{}", cut(&result.text(), RESULT_CHARS))
    });
    Message::assistant(lines.collect::<Vec<_>>().join("\n\n"))
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
    if let Some(rest) =
        after(&["remember that ", "remember: ", "remember this: ", "remember ", "记住"])
    {
        return (!rest.is_empty())
            .then_some(Plain::Remember(rest.trim_start_matches(['：', ':', ' '])));
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
        assert_eq!(
            plain("Remember that the door code is 4711"),
            Some(Plain::Remember("the door code is 4711"))
        );
        assert_eq!(plain("记住：我喜欢茶"), Some(Plain::Remember("我喜欢茶")));
        assert_eq!(plain("what is the door code?"), None);
    }
}
