//! A fresh place for a log, and what the cases share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use waterline::message::{Message, Part, Role, Wire};
use waterline::tokens::{Counter, Method};
use waterline_log::{Incoming, Log, Session};

pub(crate) trait Backend {
    /// Opens the log of this place; a second time it is the same log.
    fn open(&self) -> Log;

    /// An address for a log of its own.
    fn other(&self) -> String;
}

pub(crate) struct Sqlite(tempfile::TempDir, AtomicUsize);

impl Sqlite {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"), AtomicUsize::new(0))
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

/// A schema of its own, dropped at the end.
pub(crate) struct Postgres {
    url: String,
    schema: String,
    made: AtomicUsize,
}

impl Postgres {
    pub(crate) fn new(url: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test_{}_{number}", std::process::id());
        Self { url: url.to_owned(), schema, made: AtomicUsize::new(0) }
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
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        self.at(&format!("{}_{number}", self.schema))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Ok(mut client) = postgres::Client::connect(&self.url, postgres::NoTls) else { return };
        for number in 0..=self.made.load(Ordering::Relaxed) {
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

/// Messages as a client sends them: the user speaks first, then they take turns.
pub(crate) fn said(texts: &[&str]) -> Vec<Incoming> {
    texts
        .iter()
        .enumerate()
        .map(|(at, text)| one(if at % 2 == 0 { Role::User } else { Role::Assistant }, text))
        .collect()
}

pub(crate) fn one(role: Role, text: &str) -> Incoming {
    Incoming::of(&Message::new(role, vec![Part::text(text)]), &counter())
}

/// A session with these messages.
pub(crate) fn session(log: &Log, id: &str, texts: &[&str]) -> Session {
    let made = log.create(Session::new(id)).expect("a session");
    log.append(id, made.tip, said(texts)).expect("appended");
    log.session(id).expect("the session")
}

/// What a session says, one text a message.
pub(crate) fn texts(log: &Log, id: &str) -> Vec<String> {
    log.entries(id).expect("the messages").iter().map(|entry| entry.message(parse).text()).collect()
}

/// Stands for a reader of vendor JSON: `{"role":…,"content":"…"}`.
pub(crate) fn parse(json: Arc<String>, _: Wire, role: Role) -> Option<Message> {
    let value: serde_json::Value = serde_json::from_str(&json).ok()?;
    Some(Message::new(role, vec![Part::text(value.get("content")?.as_str()?)]))
}
