//! The entry functions of all fuzz targets. Each takes any bytes and must not panic. They are run
//! by the targets in `fuzz_targets`, which are guided by coverage, and by
//! `crates/cli/tests/mutations.rs`, which changes the seeds at random.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use futures_util::{FutureExt, StreamExt};
use waterline::history::History;
use waterline::message::{Message, Wire};
use waterline::model::Models;
use waterline::plan::{Budget, Generation, Input, plan};
use waterline::policy::{PRESETS, Policy};
use waterline::tokens::{Counter, Method};
use waterline_agent::Local;
use waterline_agent::approval::{Approval, CallRequest, Decision};
use waterline_agent::tool::{CallInfo, Capability, Subject};
use waterline_log::Log;
use waterline_provider::wire;
use waterline_transcript::Source;

/// An entry function.
pub type Entry = fn(&[u8]);

/// All targets, by name.
pub const TARGETS: [(&str, Entry); 8] = [
    ("wires", wires),
    ("importers", importers),
    ("exports", exports),
    ("streams", streams),
    ("bodies", bodies),
    ("policies", policies),
    ("mcp", mcp),
    ("shell", shell),
];

const WINDOWS: [usize; 4] = [60, 600, 6_000, 60_000];

/// Runs a conversation through parse → plan → render → check, on every wire. The first four bytes
/// choose the wires, the preset, the window and how often a call is made. Every context must be
/// valid.
pub fn wires(data: &[u8]) {
    let [wires, preset, window, interval, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let all = wire::all();
    let from = all[usize::from(wires % 4)];
    let to = all[usize::from(wires / 4 % 4)];
    let Ok(conversation) = wire::parse(&Arc::new(text.to_owned()), Some(from)) else { return };
    let preset = PRESETS[usize::from(*preset) % PRESETS.len()].name;
    let Ok(policy) = Policy::preset(preset) else { return };
    let budget = Budget::of(WINDOWS[usize::from(window % 4)]);
    let mut history = History::new(Counter::new(Method::Chars4, 100));
    let mut generation = Generation::new();
    let model = Models::builtin().resolve("claude-opus-5-5");
    let count = conversation.messages.len();
    for (at, message) in conversation.messages.into_iter().enumerate() {
        history.append(message);
        if (at + 1) % (usize::from(interval % 8) + 1) != 0 && at + 1 != count {
            continue;
        }
        let planned = plan(&Input::new(&history, &generation, &policy, budget, &model));
        generation.freeze(&history, planned);
        let context: Vec<&Message> = generation.context(&history).collect();
        let rendered = wire::render(to, &context);
        // If the context has only items of another wire, there is nothing to send.
        if !rendered.messages.is_empty() {
            let found = wire::check(to, &rendered.texts());
            assert!(found.is_empty(), "{from} to {to}: {found:?}\n{:#?}", rendered.texts());
        }
    }
}

/// Reads a session file of any program, and checks its messages on every wire.
pub fn importers(data: &[u8]) {
    let source = Source::Bytes("input".to_owned(), data.to_vec());
    let _ = waterline_transcript::read(&source, |transcript| {
        let messages: Vec<&Message> = transcript.messages().collect();
        for wire in wire::all() {
            let _ = wire::render(wire, &messages);
        }
        ControlFlow::Continue(())
    });
}

/// Returns a directory in memory, if the system has one.
fn directory() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::path::Path::new("/tmp") };
    tempfile::tempdir_in(parent).expect("a temporary directory")
}

/// Returns the file of an empty log.
fn empty_log() -> Vec<u8> {
    let directory = directory();
    let path = directory.path().join("log.db");
    drop(Log::open(&path.display().to_string()).expect("a new log"));
    std::fs::read(path).expect("the file of the log")
}

/// Imports an export into an empty log. Whatever is imported must be intact.
pub fn exports(data: &[u8]) {
    // Creating a log takes longer than importing a few lines into a copy of one.
    static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(empty_log);
    let directory = directory();
    let path = directory.path().join("log.db");
    std::fs::write(&path, EMPTY.as_slice()).expect("a copy of the log");
    let log = Log::open(&path.display().to_string()).expect("the copy opens");
    let _ = log.import(data, wire::parse_stored, |_| ());
    match log.verify(|_, _| ()) {
        Ok(verified) => assert!(verified.problems.is_empty(), "{:?}", verified.problems),
        Err(error) => unreachable!("{error}"),
    }
}

/// Decodes an answer on the wire that the first byte chooses: as a stream of events, one per line,
/// and as a whole answer.
pub fn streams(data: &[u8]) {
    let [chosen, data @ ..] = data else { return };
    let text = String::from_utf8_lossy(data);
    let all = wire::all();
    let wire = all[usize::from(*chosen) % all.len()];
    let whole = wire::whole_answer(wire, &text);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for events in [whole, lines] {
        let mut decoder = wire::decoder(wire);
        for event in events {
            if decoder.event(&event, &mut |_| ()).is_err() {
                break;
            }
        }
        let answer = decoder.finish();
        let messages: Vec<&Message> = answer.messages.iter().collect();
        let _ = wire::render(wire, &messages);
    }
}

/// Decodes the body of a response with server-sent events, on the wire that the first byte chooses.
/// The second byte is the size of the pieces in which it arrives, which must not matter.
pub fn bodies(data: &[u8]) {
    let [chosen, size, body @ ..] = data else { return };
    let all = wire::all();
    let wire = all[usize::from(*chosen) % all.len()];
    let whole = events_of(wire, body, body.len().max(1));
    let pieces = events_of(wire, body, usize::from(*size).max(1));
    assert_eq!(whole, pieces);
}

/// Returns all events of a body, as text.
fn events_of(wire: Wire, body: &[u8], size: usize) -> String {
    let pieces: Vec<_> =
        body.chunks(size).map(|piece| Ok::<_, Infallible>(piece.to_vec())).collect();
    let events = waterline_provider::decode_body(wire, futures_util::stream::iter(pieces));
    // Everything is there, so nothing has to wait.
    let events = events.collect::<Vec<_>>().now_or_never();
    format!("{:?}", events.expect("a body in memory is decoded at once"))
}

/// Reads a policy.
pub fn policies(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Policy::read(text, &[]);
    }
}

/// Reads the result of an MCP call.
pub fn mcp(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = waterline_agent::mcp::read_result(text);
    }
}

/// Decides about a shell command. A line that runs something risky is noticed after any text: the
/// text either hides nothing, or cannot be read to its end.
pub fn shell(data: &[u8]) {
    let Ok(command) = std::str::from_utf8(data) else { return };
    decide(command);
    // A backslash would continue the last line.
    if !command.ends_with('\\') {
        let command = format!("{command}\nsudo true\n");
        let decision = decide(&command);
        assert!(!matches!(decision, Decision::Run), "not asked about: {command:?}");
    }
}

fn decide(command: &str) -> Decision {
    let arguments = serde_json::json!({"command": command}).to_string();
    let info = CallInfo {
        capability: Capability::Execute,
        subject: Subject::Command(command.to_owned()),
        ..CallInfo::default()
    };
    let request = CallRequest::new("run_bash_command", &info, &arguments);
    thread_local! {
        static APPROVAL: Approval = Approval { confined: true, ..Approval::default() };
    }
    APPROVAL.with(|approval| approval.decide(request, &Local::default()))
}
