//! The backends of the suite, and helpers that the cases share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use waterline::message::{Message, Part, Role, Wire};
use waterline::tokens::{Counter, Method};
use waterline_log::{Commit, ContextUpdate, Incoming, Log, Session, Usage};

pub(crate) trait Backend {
    /// Opens the log of this backend. Every call opens the same log.
    fn open(&self) -> Log;

    /// Returns the URL of a new, separate log.
    fn other(&self) -> String;
}

pub(crate) struct Sqlite(tempfile::TempDir, AtomicUsize);

impl Sqlite {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"), AtomicUsize::new(0))
    }
}

impl Backend for Sqlite {
    fn open(&self) -> Log {
        Log::open(&self.0.path().join("log.db").display().to_string()).expect("the log opens")
    }

    fn other(&self) -> String {
        let number = self.1.fetch_add(1, Ordering::Relaxed);
        self.0.path().join(format!("other-{number}.db")).display().to_string()
    }
}

/// A separate schema, dropped at the end.
pub(crate) struct Postgres {
    url: String,
    schema: String,
    count: AtomicUsize,
}

impl Postgres {
    pub(crate) fn new(url: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test_{}_{number}", std::process::id());
        Self { url: url.to_owned(), schema, count: AtomicUsize::new(0) }
    }

    fn at(&self, schema: &str) -> String {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{mark}schema={schema}", self.url)
    }
}

impl Backend for Postgres {
    fn open(&self) -> Log {
        Log::open(&self.at(&self.schema)).expect("the log opens")
    }

    fn other(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        self.at(&format!("{}_{number}", self.schema))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Ok(mut client) = postgres::Client::connect(&self.url, postgres::NoTls) else { return };
        for number in 0..=self.count.load(Ordering::Relaxed) {
            let other = format!("{}_{number}", self.schema);
            for schema in [&self.schema, &other] {
                drop(client.batch_execute(&format!("DROP SCHEMA IF EXISTS \"{schema}\" CASCADE")));
            }
        }
    }
}

pub(crate) fn counter() -> Counter {
    Counter::new(Method::Chars4, 1_000)
}

/// Returns messages with alternating roles, starting with the user.
pub(crate) fn alternating(texts: &[&str]) -> Vec<Incoming> {
    texts
        .iter()
        .enumerate()
        .map(|(at, text)| {
            text_message(if at % 2 == 0 { Role::User } else { Role::Assistant }, text)
        })
        .collect()
}

pub(crate) fn text_message(role: Role, text: &str) -> Incoming {
    Incoming::of(&Message::new(role, vec![Part::text(text)]), &counter())
}

/// Creates a session with these messages.
pub(crate) fn session(log: &Log, id: &str, texts: &[&str]) -> Session {
    let created = log.create(Session::new(id)).expect("a session");
    log.append(id, created.tip, alternating(texts)).expect("appended");
    log.session(id).expect("the session")
}

/// Stores the request context of a call that was planned with the session `planned`.
pub(crate) fn freeze(
    log: &Log,
    planned: &Session,
    sent: ContextUpdate,
) -> waterline_log::Result<Session> {
    log.commit(planned, Commit { context: Some(sent), ..Commit::default() })
}

/// Stores the usage of a call after the last message of a session.
pub(crate) fn record_usage(log: &Log, id: &str, call: Usage) -> waterline_log::Result<Session> {
    log.commit(&log.session(id)?, Commit { usage: Some(call), ..Commit::default() })
}

/// Returns the texts of a session's messages.
pub(crate) fn texts(log: &Log, id: &str) -> Vec<String> {
    log.entries(id).expect("the messages").iter().map(|entry| entry.message(parse).text()).collect()
}

/// Replaces a parser of vendor JSON; reads `{"role":…,"content":"…"}`.
pub(crate) fn parse(json: Arc<String>, _: Wire, role: Role) -> Option<Message> {
    let value: serde_json::Value = serde_json::from_str(&json).ok()?;
    Some(Message::new(role, vec![Part::text(value.get("content")?.as_str()?)]))
}
