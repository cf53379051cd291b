//! Measures durable appends, resuming a long session, storage size and forks.
//! `scripts/langgraph-log.py` does the same work with LangGraph's `SqliteSaver`;
//! docs/benchmarks.md compares both.
//!
//! Run `cargo bench -p waterline-log -- DIR`. The files are created in DIR, which must be on a
//! disk: a directory in memory does not measure durable writes. The PostgreSQL part needs a server
//! (`scripts/with-postgres`).
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark panics to fail, and prints its results"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use waterline::history::History;
use waterline::message::{Message, Part, Role, Wire};
use waterline::model::Models;
use waterline::plan::{Action, Budget, FoldLevel, FoldRequest, Generation, Input, extend, plan};
use waterline::policy::Policy;
use waterline::reason::Reasons;
use waterline::tokens::Counter;
use waterline_log::{Commit, ContextUpdate, Fold, Incoming, Log, Options, Resumed, Session};

/// The environment variable that makes this process one of several writers. Its value is
/// `URL SESSION`.
const WRITER: &str = "WATERLINE_BENCH_WRITER";
const APPENDS: usize = 1_000;
const RUNS: usize = 3;

fn main() {
    if let Ok(task) = std::env::var(WRITER) {
        let (url, id) = task.split_once(' ').unwrap();
        return append(&open(url), id);
    }
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let parent = argument.map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(parent).unwrap();
    appends("sqlite", |name| directory.path().join(name).display().to_string());
    if let Ok(url) = std::env::var("WATERLINE_TEST_POSTGRES") {
        let mark = if url.contains('?') { '&' } else { '?' };
        appends("postgres", |name| {
            format!("{url}{mark}schema=bench_{}", name.replace(['.', '-'], "_"))
        });
    }
    bytes(directory.path());
    forks(directory.path());
    resends(directory.path());
    open_and_plan(directory.path());
}

fn open(url: &str) -> Log {
    Log::open_with(url, &Options::default().with_wait(Duration::from_secs(600))).unwrap()
}

fn counter() -> Counter {
    Models::builtin().find("gpt-4o").unwrap().counter()
}

/// Returns about 600 bytes of words, different for each number.
fn text(number: usize) -> String {
    const WORDS: [&str; 16] = [
        "server", "value", "because", "parse", "the", "index", "of", "returns", "message", "error",
        "when", "build", "path", "token", "is", "window",
    ];
    let mut state = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut text = format!("{number}:");
    while text.len() < 570 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(WORDS[(state >> 60) as usize]);
        if (state >> 33).is_multiple_of(5) {
            text.push_str(&format!("_{:x}", (state >> 40) & 0xFFF));
        }
    }
    text
}

fn incoming(number: usize) -> Incoming {
    let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
    Incoming::of(&Message::new(role, vec![Part::text(text(number))]), &counter())
}

fn append(log: &Log, id: &str) {
    let mut tip = log.create(Session::new(id)).unwrap().tip;
    // Start with different messages, so that sessions do not share any.
    let start = id.bytes().fold(0, |sum, byte| sum * 31 + usize::from(byte)) * APPENDS;
    for number in 0..APPENDS {
        tip = log.append(id, tip, vec![incoming(start + number)]).unwrap().tip;
    }
}

fn rate(count: usize, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    count as f64 / start.elapsed().as_secs_f64()
}

fn print_runs(name: &str, unit: &str, runs: &[f64]) {
    let all: Vec<String> = runs.iter().map(|run| format!("{run:.0}")).collect();
    println!("{name}: {} {unit}", all.join(", "));
}

fn appends(backend: &str, url: impl Fn(&str) -> String) {
    let run = |name: &str, count: usize, work: &dyn Fn(&str)| {
        let runs: Vec<f64> = (0..RUNS)
            .map(|run| {
                let url = url(&format!("{name}-{}-{run}.db", std::process::id()));
                drop(open(&url));
                rate(count, || work(&url))
            })
            .collect();
        print_runs(&format!("{backend}, {name}"), "appends/s", &runs);
    };
    run("1 writer", APPENDS, &|url| append(&open(url), "s"));
    run("8 threads", 8 * APPENDS, &|url| {
        let log = open(url);
        std::thread::scope(|scope| {
            (0..8).for_each(|n| {
                drop(scope.spawn({
                    let log = &log;
                    move || append(log, &format!("t{n}"))
                }))
            })
        });
    });
    run("8 processes", 8 * APPENDS, &|url| {
        let start = |n: usize| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env(WRITER, format!("{url} p{n}")).stdout(Stdio::null()).spawn().unwrap()
        };
        let writers: Vec<_> = (0..8).map(start).collect();
        writers.into_iter().for_each(|mut writer| assert!(writer.wait().unwrap().success()));
    });
}

fn size(path: &Path) -> u64 {
    let url = path.display().to_string();
    // Closing the log moves the contents of the write-ahead log into the file.
    drop(open(&url));
    std::fs::metadata(path).unwrap().len()
}

fn bytes(directory: &Path) {
    let path = directory.join("bytes.db");
    let log = open(&path.display().to_string());
    append(&log, "s");
    let message_bytes = log.stats().unwrap().message_bytes;
    drop(log);
    println!(
        "bytes stored per byte of message, 1,000 appends: {:.2}",
        size(&path) as f64 / message_bytes as f64
    );
}

fn forks(directory: &Path) {
    let path = directory.join("forks.db");
    let log = open(&path.display().to_string());
    append(&log, "s");
    drop(log);
    let before = size(&path);
    let log = open(&path.display().to_string());
    (0..100).for_each(|_| drop(log.fork("s", None, None).unwrap()));
    drop(log);
    println!(
        "bytes per fork of a session of 1,000 messages, 100 forks: {:.0}",
        (size(&path) - before) as f64 / 100.0
    );
}

/// Measures a client that resends its whole history with each of 1,000 calls. Each call has two new
/// messages.
fn resends(directory: &Path) {
    let path = directory.join("resends.db");
    let log = open(&path.display().to_string());
    log.create(Session::new("s")).unwrap();
    let mut history = Vec::new();
    let mut sent = 0_u64;
    for round in 1..=1_000 {
        history.extend([incoming(2 * round), incoming(2 * round + 1)]);
        sent += history.iter().map(|incoming: &Incoming| incoming.bytes.len() as u64).sum::<u64>();
        let start = Instant::now();
        log.resend("s", history.clone()).unwrap();
        if [1, 250, 500, 1_000].contains(&round) {
            let took = start.elapsed();
            let stats = log.stats().unwrap();
            println!(
                "resent {round} times: {} messages, {:.2} MB of messages, {:.1} MB sent, \
                 {:.2} MB stored, last resend {:.1} ms",
                stats.messages,
                stats.message_bytes as f64 / 1e6,
                sent as f64 / 1e6,
                stats.database_bytes as f64 / 1e6,
                took.as_secs_f64() * 1e3
            );
        }
    }
}

fn no_parser(_: Arc<String>, _: Wire, _: Role) -> Option<Message> {
    None
}

/// Measures how long it takes to open a session of 100,000 messages and plan its next call, as
/// after a restart. First it creates the session, and plans and stores a call after every 20
/// messages.
fn open_and_plan(directory: &Path) {
    const MESSAGES: usize = 100_000;
    let url = directory.join("long.db").display().to_string();
    let model = Models::builtin().find("gpt-4o").unwrap();
    let policy = Policy::preset("auto").unwrap();
    let budget = Budget::of(model.input_window());
    let log = open(&url);
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    let mut history = History::new(counter());
    let mut generation = Generation::new();
    for number in (0..MESSAGES).step_by(20) {
        let messages: Vec<Message> = (number..number + 20)
            .map(|n| {
                Message::new(
                    if n.is_multiple_of(2) { Role::User } else { Role::Assistant },
                    vec![Part::text(text(n))],
                )
            })
            .collect();
        let incoming = messages.iter().map(|message| Incoming::of(message, &counter())).collect();
        tip = log.append("s", tip, incoming).unwrap().tip;
        history.extend(messages);
        let planned = plan(&Input::new(&history, &generation, &policy, budget, &model));
        let fold = match &planned.action {
            Action::Fold { reasons, .. } => {
                Some(Fold { reasons: reasons.clone(), ..Fold::default() })
            }
            _ => None,
        };
        let from = if fold.is_some() { 0 } else { generation.slots().len() };
        generation.freeze(&history, planned);
        let slots = generation.stored(&history, from);
        let sent = ContextUpdate {
            cleared: 0,
            head: generation.head(),
            past: history.past(),
            slots,
            fold,
        };
        let commit = Commit { context: Some(sent), ..Commit::default() };
        log.commit(&log.session("s").unwrap(), commit).unwrap();
    }
    log.append("s", tip, vec![incoming(MESSAGES + 1)]).unwrap();
    drop(log);

    let mut times = Vec::new();
    let mut sent = 0;
    for _ in 0..11 {
        let start = Instant::now();
        let log = open(&url);
        let Resumed { mut generation, history, .. } =
            log.resume("s", &counter(), no_parser).unwrap();
        let planned = extend(&Input::new(&history, &generation, &policy, budget, &model));
        generation.freeze(&history, planned.unwrap());
        sent = generation.context(&history).count();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "open a session of {MESSAGES} messages and plan its next call \
         ({} folds, {sent} messages sent): median {:.1} ms, worst {:.1} ms",
        generation.number,
        times[times.len() / 2],
        times[times.len() - 1]
    );
    first_fold(&url);
}

/// The number of messages that a session reads for a fold of a very long conversation.
const NEWEST: usize = 20_000;

/// The first fold of a resumed session, compared with one that reads every message.
fn first_fold(url: &str) {
    let policy = Policy::preset("auto").unwrap();
    let model = Models::builtin().unknown();
    for newest in [NEWEST, usize::MAX] {
        let mut times = Vec::new();
        let mut read = 0;
        for _ in 0..5 {
            let log = open(url);
            let resumed = log.resume("s", &counter(), no_parser).unwrap();
            let sent = resumed.generation.slots().iter().filter(|slot| slot.treatment.is_sent());
            let shown: Vec<usize> = sent.flat_map(|slot| slot.sources.iter().copied()).collect();
            let start = Instant::now();
            let history = match newest {
                usize::MAX => log.history("s", &counter(), no_parser),
                newest => log.recent_history("s", &counter(), no_parser, newest, &shown),
            };
            let history = history.unwrap();
            read = history.len().min(newest);
            let loaded = start.elapsed().as_secs_f64() * 1e3;
            let reasons = Reasons::from("measured");
            let requested = Some(FoldRequest::new(FoldLevel::ByPolicy, &reasons));
            let budget = Budget::of(model.input_window());
            let input = Input::new(&history, &resumed.generation, &policy, budget, &model);
            let planned = plan(&Input { requested_fold: requested, ..input });
            assert!(matches!(planned.action, Action::Fold { .. }));
            times.push((start.elapsed().as_secs_f64() * 1e3, loaded));
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (fold, loaded) = times[times.len() / 2];
        println!(
            "fold a resumed session, {read} messages read: {fold:.0} ms ({loaded:.0} to load)"
        );
    }
}
