//! The cost of a session in the log: durable writes and bytes; and what is stored when a result is
//! announced.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails loudly"
)]

mod test_bed;

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::json;
use test_bed::{Line, TestBed, bash, calls, model, says};
use waterline_agent::{
    Agent, ApprovalReply, ApprovalRequest, Approver, Event, Observer, Question, Source, State,
    UserInput,
};
use waterline_log::{Log, Session};
use waterline_testkit::scripted::Scripted;

/// Opens an agent on a log whose writes are counted.
async fn open(bed: &TestBed, log: &Log, server: &Scripted) -> Agent {
    let mut config = bed.config(server);
    config.apply_settings().unwrap();
    Agent::open(log.clone(), "s", config, bed.watcher.clone()).await.unwrap()
}

fn reads(number: usize) -> Line {
    calls("list_files", json!({"path": ".", "pattern": format!("notes-{number}*")}))
}

#[tokio::test]
async fn a_turn_makes_few_durable_writes() {
    let bed = TestBed::new();
    let server = model(vec![
        says("hello"),
        reads(1),
        says("nothing there"),
        reads(2),
        reads(3),
        says("nor there"),
    ]);
    let log = bed.log();
    let mut agent = open(&bed, &log, &server).await;
    let mut writes = Vec::new();
    for text in ["hi", "look", "look twice"] {
        let before = log.writes();
        agent.turn(UserInput::new(text)).await.unwrap();
        writes.push(log.writes() - before);
    }
    println!(
        "durable writes of a turn: plain {}, with one tool {}, with two {}",
        writes[0], writes[1], writes[2]
    );
    // The lease is acquired and released. The message is stored with the request, and each answer
    // with its usage. The start of a call is stored, and its result together with the next request.
    assert!(writes[0] <= 4 && writes[1] <= 7 && writes[2] <= 10, "{writes:?}");
}

/// A record of changed files is stored with the start or the result of its call, and the whole of a
/// truncated result with the result.
#[tokio::test]
async fn a_turn_that_changes_a_file_makes_few_durable_writes() {
    let bed = TestBed::new();
    let write = |text: &str| calls("write_file", json!({"path": "a.txt", "content": text}));
    let edit =
        |old: &str, new: &str| calls("edit_file", json!({"path": "a.txt", "old": old, "new": new}));
    let tools = [
        write("1"),
        write("2"),
        edit("2", "3"),
        edit("3", "4"),
        bash("echo 5 > a.txt"),
        bash("echo 6 > b.txt; rm a.txt"),
        bash("seq 20000 > long.txt; cat long.txt"),
    ];
    let lines = tools.into_iter().flat_map(|tool| [tool, says("done")]);
    let server = model(lines.collect());
    let log = bed.log();
    let mut config = bed.config(&server);
    config.approval.mode = waterline_agent::approval::Mode::None;
    config.apply_settings().unwrap();
    let mut agent = Agent::open(log.clone(), "s", config, bed.watcher.clone()).await.unwrap();
    let mut writes = Vec::new();
    for turn in 0..7 {
        let before = log.writes();
        agent.turn(UserInput::new(format!("turn {turn}"))).await.unwrap();
        writes.push(log.writes() - before);
    }
    println!("durable writes of turns that change a file: {writes:?}");
    assert!(writes.iter().all(|count| *count <= 7), "{writes:?}");
    assert_eq!(log.artifacts("s").unwrap().len(), 1, "the long result");
    // The records are complete: every turn can be undone.
    agent.begin_move().await.unwrap();
    drop(agent);
    log.rewind("s", waterline_log::RewindTarget::Turns(7)).unwrap();
    let mut config = bed.config(&server);
    config.apply_settings().unwrap();
    let mut agent = Agent::open(log, "s", config, bed.watcher.clone()).await.unwrap();
    assert_eq!(agent.move_files(Vec::new()).await.unwrap().len(), 2);
    for name in ["a.txt", "b.txt", "long.txt"] {
        assert!(!bed.workspace().join(name).exists(), "{name}");
    }
}

/// Returns the size of a log with this many turns of one tool call each, and its message count.
async fn size_of(turns: usize) -> (u64, u64) {
    let bed = TestBed::new();
    let lines = (0..turns)
        .flat_map(|turn| [reads(turn), says(format!("Turn {turn}: there are no such notes."))]);
    let server = model(lines.collect());
    let log = bed.log();
    let mut agent = open(&bed, &log, &server).await;
    for turn in 0..turns {
        agent
            .turn(UserInput::new(format!("Are there notes that begin with {turn}?")))
            .await
            .unwrap();
    }
    let messages = agent.live().session().tip.position();
    drop((agent, log));
    (closed_size(&bed.directory.path().join("log.db")), messages)
}

/// Returns the size of a closed log, whose write-ahead log was merged into the file.
fn closed_size(path: &Path) -> u64 {
    let log = Log::open(&path.display().to_string()).unwrap();
    drop(log);
    std::fs::metadata(path).unwrap().len()
}

#[tokio::test]
async fn a_short_session_stores_less_than_1500_bytes_per_message() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.db");
    Log::open(&empty.display().to_string()).unwrap().create(Session::new("s")).unwrap();
    let empty = closed_size(&empty);
    for turns in [2, 5, 10, 25] {
        let (size, messages) = size_of(turns).await;
        let each = (size - empty) / messages;
        println!("{turns} turns with one tool each, {messages} messages: {each} bytes per message");
        assert!(each < 1_500, "{turns} turns: {each} bytes per message");
    }
}

#[tokio::test]
async fn restoring_a_checkpoint_restores_the_state() {
    let bed = TestBed::new();
    let todo = |content: &str| {
        calls("todo_write", json!({"todos": [{"content": content, "status": "pending"}]}))
    };
    let server = model(vec![todo("measure"), says("noted"), todo("sail"), says("noted too")]);
    let mut agent = bed.agent(&server).await;
    let mut states: Vec<State> = Vec::new();
    for text in ["first", "second"] {
        agent.turn(UserInput::new(text)).await.unwrap();
        states.push(bed.state("s"));
    }
    let checkpoints = bed.log().checkpoints("s").unwrap();
    let last_of_first = &checkpoints[checkpoints.len() / 2 - 1];
    bed.log().restore("s", &last_of_first.checkpoint_id, None).unwrap();
    assert_eq!(bed.state("s"), states[0]);
    bed.log().restore("s", &checkpoints[checkpoints.len() - 1].checkpoint_id, None).unwrap();
    assert_eq!(bed.state("s"), states[1]);
}

/// Reads the log at the moment a result is announced.
struct LogReader {
    log: Log,
    stored: Mutex<Vec<bool>>,
}

impl Observer for LogReader {
    fn on_event(&self, _: &Source, event: &Event) {
        if let Event::ToolEnds { text, .. } = event {
            let stored = self.log.entries("s").unwrap();
            let last = String::from_utf8_lossy(&stored.last().unwrap().bytes).into_owned();
            self.stored.lock().unwrap().push(last.contains(text.as_str()));
        }
    }
}

impl Approver for LogReader {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async { ApprovalReply::Allow })
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

#[tokio::test]
async fn a_result_is_announced_when_it_is_stored() {
    let bed = TestBed::new();
    let server =
        model(vec![calls("now", json!({})), calls("now", json!({"zone": "UTC"})), says("late")]);
    let reader = Arc::new(LogReader { log: bed.log(), stored: Mutex::default() });
    let mut config = bed.config(&server);
    config.apply_settings().unwrap();
    let mut agent = Agent::open(bed.log(), "s", config, reader.clone()).await.unwrap();
    agent.turn(UserInput::new("what time is it?")).await.unwrap();
    assert_eq!(*reader.stored.lock().unwrap(), [true, true]);
}

/// Counts the stored file versions at the moment a call starts.
struct VersionCounter {
    log: Log,
    stored: Mutex<Vec<u64>>,
}

impl Observer for VersionCounter {
    fn on_event(&self, _: &Source, event: &Event) {
        if let Event::ToolBegins { .. } = event {
            self.stored.lock().unwrap().push(self.log.stats().unwrap().file_versions);
        }
    }
}

impl Approver for VersionCounter {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async { ApprovalReply::Allow })
    }

    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// Whatever moment the process is killed at, a file that it changed has its record.
#[tokio::test]
async fn what_a_call_writes_is_recorded_before_the_call_starts() {
    let bed = TestBed::new();
    let server = model(vec![
        calls("write_file", json!({"path": "a.txt", "content": "1"})),
        calls("edit_file", json!({"path": "a.txt", "old": "1", "new": "2"})),
        says("done"),
    ]);
    let counter = Arc::new(VersionCounter { log: bed.log(), stored: Mutex::default() });
    let mut config = bed.config(&server);
    config.apply_settings().unwrap();
    let mut agent = Agent::open(bed.log(), "s", config, counter.clone()).await.unwrap();
    agent.turn(UserInput::new("write it")).await.unwrap();
    assert_eq!(*counter.stored.lock().unwrap(), [1, 2]);
}

/// State that does not parse is an error with the session and the field. It is never treated as a
/// session that waits for nothing.
#[tokio::test]
async fn a_state_that_does_not_parse_is_an_error() {
    let bed = TestBed::new();
    let mut session = bed.log().session("s").unwrap();
    session.state.insert(
        "pending_action".to_owned(),
        json!({"kind": "approval", "tool": "run_bash_command"}),
    );
    bed.log().save(&session).unwrap();
    let server = model(vec![]);
    let mut config = bed.config(&server);
    config.apply_settings().unwrap();
    let error =
        Agent::open(bed.log(), "s", config, bed.watcher.clone()).await.err().unwrap().to_string();
    assert!(error.contains("session s") && error.contains("pending_action"), "{error}");
}
