//! A test bed: an agent in a temporary directory, a scripted model, and a scripted user.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "each test program uses only a part of it; a test fails loudly"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use waterline::message::Message;
use waterline::policy::Policy;
use waterline_agent::environment::without_notes;
use waterline_agent::tool::Toolbox;
use waterline_agent::{
    Agent, AgentConfig, ApprovalReply, ApprovalRequest, Approver, Event, Local, Observer, Question,
    Source, State,
};
use waterline_log::{Log, Session};
use waterline_provider::retry::Retry;
use waterline_provider::wire::parse_stored;
use waterline_sandbox::Shell;
use waterline_session::{ModelTarget, SessionConfig};
use waterline_testkit::scripted::Scripted;
use waterline_testkit::server::Received;

pub use waterline_testkit::script::{Line, calls, reply, says};

/// Returns a model that gives scripted answers one after the other, then "done".
pub fn model(lines: Vec<Line>) -> Scripted {
    Scripted::lines(lines)
}

/// A front end that gives prepared replies and records what happened.
#[derive(Default)]
pub struct Watcher {
    pub replies: Mutex<VecDeque<ApprovalReply>>,
    pub answers: Mutex<VecDeque<String>>,
    pub steering: Mutex<VecDeque<String>>,
    pub requests: Mutex<Vec<ApprovalRequest>>,
    pub events: Mutex<Vec<Event>>,
}

impl Watcher {
    pub fn event_lines(&self) -> Vec<String> {
        let line = |event: &Event| match event {
            Event::Notice(notice) => notice.to_string(),
            other => format!("{other:?}"),
        };
        self.events.lock().unwrap().iter().map(line).collect()
    }
}

impl Observer for Watcher {
    fn on_event(&self, _: &Source, event: &Event) {
        self.events.lock().unwrap().push(event.clone());
    }
}

impl Approver for Watcher {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        self.requests.lock().unwrap().push(request.clone());
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(async move {
            match reply {
                Some(reply) => reply,
                None => std::future::pending().await,
            }
        })
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move { answer })
    }

    fn poll_steering(&self) -> Vec<String> {
        self.steering.lock().unwrap().drain(..).collect()
    }
}

pub struct TestBed {
    pub directory: tempfile::TempDir,
    pub watcher: Arc<Watcher>,
}

impl TestBed {
    pub fn new() -> Self {
        let bed = Self { directory: tempfile::tempdir().unwrap(), watcher: Arc::default() };
        bed.log().create(Session::new("s")).unwrap();
        bed
    }

    pub fn log(&self) -> Log {
        Log::open(&self.directory.path().join("log.db").display().to_string()).unwrap()
    }

    /// Returns the stored agent state of a session.
    pub fn state(&self, session: &str) -> State {
        State::of(&self.log().session(session).unwrap()).unwrap()
    }

    /// Returns the stored local state of a session.
    pub fn local(&self, session: &str) -> Local {
        Local::of(&self.log().session(session).unwrap()).unwrap()
    }

    pub fn target(server: &Scripted) -> ModelTarget {
        ModelTarget { window: Some(100_000), ..ModelTarget::new("m", server.clone()) }
    }

    /// Returns the configuration of the agent. Commands are not confined.
    pub fn config(&self, server: &Scripted) -> AgentConfig {
        let zero = vec![Duration::ZERO; 3];
        let retry =
            Retry { rate_limit: zero.clone(), transient: zero, longest: Duration::from_secs(1) };
        let session_config = SessionConfig {
            retry,
            ..SessionConfig::new(Self::target(server), Policy::preset_with("auto", &[]).unwrap())
        };
        let mut shell = Shell::unconfined();
        shell.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        shell.timeout = Duration::from_secs(20);
        let mut config = AgentConfig::new(
            session_config,
            Toolbox::new(Arc::new(shell)),
            self.directory.path().join("workspaces"),
        );
        config.approval.confined = true;
        ["todo_list", "human_approval"]
            .iter()
            .for_each(|name| config.add(name, &Value::Null).unwrap());
        config
    }

    pub async fn open(&self, mut config: AgentConfig) -> Agent {
        config.apply_settings().unwrap();
        Agent::open(self.log(), "s", config, self.watcher.clone()).await.unwrap()
    }

    pub async fn agent(&self, server: &Scripted) -> Agent {
        self.open(self.config(server)).await
    }

    pub fn messages(&self, session: &str) -> Vec<Message> {
        self.log()
            .entries(session)
            .unwrap()
            .iter()
            .map(|entry| entry.message(parse_stored))
            .collect()
    }

    /// Returns each message in short form, without system messages and the program's notes.
    pub fn story(&self, session: &str) -> Vec<String> {
        let text = |message: &Message| {
            let calls = message.calls().map(|call| format!("calls {}", call.name));
            let results = message.results().map(|result| {
                format!("{}{}", if result.is_error { "failed: " } else { "" }, result.text())
            });
            let texts = message.texts().map(|text| without_notes(text).to_owned());
            format!(
                "{}: {}",
                message.role.name(),
                texts.chain(calls).chain(results).collect::<Vec<_>>().join(" | ")
            )
        };
        self.messages(session)
            .iter()
            .filter(|message| message.role != waterline::message::Role::System)
            .map(text)
            .collect()
    }

    pub fn workspace(&self) -> std::path::PathBuf {
        self.directory.path().join("workspaces").join("s")
    }
}

/// Returns the messages of a request.
pub fn sent(received: &Received) -> Vec<Value> {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

/// Returns the names of the tools of a request.
pub fn tools(received: &Received) -> Vec<String> {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    body["tools"].as_array().unwrap().iter().map(name).collect()
}

pub fn bash(command: &str) -> Line {
    calls("run_bash_command", json!({"command": command}))
}
