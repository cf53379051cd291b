//! What the log costs: durable appends, opening a long session, bytes, forks. The same work done
//! with LangGraph's `SqliteSaver` is in `scripts/langgraph-log.py`; docs/benchmarks.md has both
//! beside each other.
//!
//! `cargo bench -p waterline-log -- FOLDER`; PostgreSQL's part needs a server
//! (`scripts/with-postgres`). FOLDER is where the files go: a folder in memory shows nothing about
//! durable writes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark that cannot go on says so by stopping, and prints what it measured"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use waterline::history::History;
use waterline::message::{Message, Part, Role, Wire};
use waterline::model::Models;
use waterline::plan::{Action, Budget, Generation, Input, extend, plan};
use waterline::policy::Policy;
use waterline::tokens::Counter;
use waterline_log::{Fold, Incoming, Log, Options, Resumed, Sent, Session};

/// The variable that makes this program one of several writers: `URL SESSION`.
const WRITER: &str = "WATERLINE_BENCH_WRITER";
const APPENDS: usize = 1_000;
const RUNS: usize = 3;

fn main() {
    if let Ok(task) = std::env::var(WRITER) {
        let (url, id) = task.split_once(' ').unwrap();
        return append(&open(url), id);
    }
    let folder = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let folder =
        tempfile::tempdir_in(folder.map_or_else(std::env::temp_dir, PathBuf::from)).unwrap();
    appends("sqlite", |name| folder.path().join(name).display().to_string());
    if let Ok(url) = std::env::var("WATERLINE_TEST_POSTGRES") {
        let mark = if url.contains('?') { '&' } else { '?' };
        appends("postgres", |name| {
            format!("{url}{mark}schema=bench_{}", name.replace(['.', '-'], "_"))
        });
    }
    bytes(folder.path());
    forks(folder.path());
    resends(folder.path());
    open_and_plan(folder.path());
}

fn open(url: &str) -> Log {
    Log::open_with(url, &Options::default().with_wait(Duration::from_secs(600))).unwrap()
}

fn counter() -> Counter {
    Models::builtin().find("gpt-4o").unwrap().counter()
}

/// About 600 bytes of words, none like another.
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
    // Sessions differ from their first message on: nothing is shared.
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

/// The best of a few runs, and all of them.
fn show(name: &str, unit: &str, runs: &[f64]) {
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
        show(&format!("{backend}, {name}"), "appends/s", &runs);
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
    // Opened once more and closed, so that what waits in the write-ahead log is in the file.
    drop(open(&url));
    std::fs::metadata(path).unwrap().len()
}

fn bytes(folder: &Path) {
    let path = folder.join("bytes.db");
    let log = open(&path.display().to_string());
    append(&log, "s");
    let said = log.stats().unwrap().message_bytes;
    drop(log);
    println!(
        "bytes stored per byte of message, 1,000 appends: {:.2}",
        size(&path) as f64 / said as f64
    );
}

fn forks(folder: &Path) {
    let path = folder.join("forks.db");
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

/// A client sends its whole history again with each of a thousand calls, two new messages each
/// time.
fn resends(folder: &Path) {
    let path = folder.join("resends.db");
    let log = open(&path.display().to_string());
    log.create(Session::new("s")).unwrap();
    let (mut history, mut sent) = (Vec::new(), 0_u64);
    for round in 1..=1_000 {
        history.extend([incoming(2 * round), incoming(2 * round + 1)]);
        sent += history.iter().map(|incoming: &Incoming| incoming.bytes.len() as u64).sum::<u64>();
        let start = Instant::now();
        log.resend("s", history.clone()).unwrap();
        if [1, 250, 500, 1_000].contains(&round) {
            let took = start.elapsed();
            let stats = log.stats().unwrap();
            println!(
                "resent {round} times: {} messages, {:.2} MB said, {:.1} MB sent, {:.2} MB stored, last resend {:.1} ms",
                stats.messages,
                stats.message_bytes as f64 / 1e6,
                sent as f64 / 1e6,
                stats.database_bytes as f64 / 1e6,
                took.as_secs_f64() * 1e3
            );
        }
    }
}

fn nothing(_: Arc<String>, _: Wire, _: Role) -> Option<Message> {
    None
}

/// A session of a hundred thousand messages, planned and stored as it grew; then opened and planned
/// as after a restart.
fn open_and_plan(folder: &Path) {
    const MESSAGES: usize = 100_000;
    let url = folder.join("long.db").display().to_string();
    let (model, policy) =
        (Models::builtin().find("gpt-4o").unwrap(), Policy::preset("auto").unwrap());
    let budget = Budget::of(model.input_window());
    let log = open(&url);
    let mut tip = log.create(Session::new("s")).unwrap().tip;
    let (mut history, mut generation) = (History::new(counter()), Generation::new());
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
            Action::Fold { reason, .. } => Some(Fold { reason: reason.clone(), ..Fold::default() }),
            Action::Extend => None,
        };
        let from = if fold.is_some() { 0 } else { generation.slots().len() };
        generation.freeze(&history, planned);
        let slots = generation.frozen(&history, from);
        let sent = Sent { cleared: 0, head: generation.head(), past: history.past(), slots, fold };
        log.freeze(&log.session("s").unwrap(), sent).unwrap();
    }
    log.append("s", tip, vec![incoming(MESSAGES + 1)]).unwrap();
    drop(log);

    let mut times = Vec::new();
    let mut sent = 0;
    for _ in 0..11 {
        let start = Instant::now();
        let log = open(&url);
        let Resumed { mut generation, history, .. } = log.resume("s", &counter(), nothing).unwrap();
        let planned = extend(&Input::new(&history, &generation, &policy, budget, &model));
        generation.freeze(&history, planned.unwrap());
        sent = generation.context(&history).count();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "open a session of {MESSAGES} messages and plan its next call ({} folds, {sent} messages sent): median {:.1} ms, worst {:.1} ms",
        generation.number,
        times[times.len() / 2],
        times[times.len() - 1]
    );
    let start = Instant::now();
    let whole = open(&url).history("s", &counter(), nothing).unwrap();
    println!(
        "the whole history of {} messages, as a fold needs it: {:.0} ms",
        whole.len(),
        start.elapsed().as_secs_f64() * 1e3
    );
}
