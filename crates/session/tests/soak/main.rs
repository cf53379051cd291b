//! Soak test: many turns of generated traffic with large tool results and parallel calls, against a
//! model with faults, in processes that are killed at any moment. Every request must be valid and
//! inside the window, every received answer must be in the log, and between folds the sent prefix
//! must not change. The memory of the processes, their number and the size of the log are watched.
//!
//! With `WATERLINE_SOAK_DUMP=DIR` every context is written to that directory, one per line, for an
//! independent checker.
//!
//! A few turns run with the other tests. `scripts/soak` runs 2,000 on each wire and both databases.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "tests fail by panicking; clippy only recognizes `#[test]` functions as tests"
)]

mod model;
mod watch;
mod worker;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use model::Model;
use watch::Watch;
use waterline::message::Wire;
use waterline_log::{Log, Session};
use waterline_provider::wire::parse_stored;
use waterline_testkit::dice::Dice;

/// The model's context window, by its own count.
pub const WINDOW: usize = 16_000;

/// The timeout of a case.
const TIMEOUT: Duration = Duration::from_secs(1_200);

fn main() {
    if let Ok(order) = std::env::var(worker::ORDER) {
        worker::run(&order);
        return;
    }
    let arguments = Arguments::from_args();
    let postgres = std::env::var("WATERLINE_TEST_POSTGRES").ok();
    let turns = std::env::var("WATERLINE_SOAK_TURNS")
        .ok()
        .and_then(|turns| turns.parse().ok())
        .unwrap_or_else(|| waterline_testkit::effort(8, 40));
    let mut trials = Vec::new();
    for (seed, wire) in (1_u64..).zip(waterline_testkit::WIRES) {
        trials.push(Trial::test(format!("sqlite::{wire}"), move || {
            let directory = tempfile::tempdir()?;
            let url = directory.path().join("log.db").display().to_string();
            soak(&url, directory.path(), wire, seed, turns, Ends::Killed)
        }));
        let server = postgres.clone();
        let trial = Trial::test(format!("postgres::{wire}"), move || {
            let server = server.ok_or("WATERLINE_TEST_POSTGRES is not set")?;
            let separator = if server.contains('?') { '&' } else { '?' };
            let directory = tempfile::tempdir()?;
            soak(
                &format!("{server}{separator}schema=soak_{}_{seed}", std::process::id()),
                directory.path(),
                wire,
                seed,
                turns,
                Ends::Killed,
            )
        });
        trials.push(trial.with_ignored_flag(postgres.is_none()));
    }
    trials.push(Trial::test("one_process", move || {
        let directory = tempfile::tempdir()?;
        let url = directory.path().join("log.db").display().to_string();
        // In a shorter session the growth is less than the noise.
        soak(&url, directory.path(), Wire::OPENAI_CHAT, 9, turns.max(300), Ends::Itself)
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

/// How the workers of a case end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Each is killed after a while, unless it finishes first.
    Killed,
    /// The first one finishes.
    Itself,
}

/// Runs workers, kills them, and checks the log they leave.
fn soak(
    url: &str,
    directory: &Path,
    wire: Wire,
    seed: u64,
    turns: u64,
    ends: Ends,
) -> Result<(), Failed> {
    let log = Log::open(url)?;
    log.create(Session::new("soak"))?;
    let model = Model::start(wire, seed)?;
    let journal = directory.join("journal");
    let mut dice = Dice::new(seed);
    let mut kills = 0;
    let mut starts = 0;
    let started = Instant::now();
    let mut watch = Watch::default();
    loop {
        let mut worker = Command::new(std::env::current_exe()?)
            .env(
                worker::ORDER,
                worker::order(url, &model.url, wire, turns, seed * 1_000 + starts, &journal),
            )
            .stdin(Stdio::null())
            .spawn()?;
        starts += 1;
        // Most of them are killed soon.
        let longest = if dice.percent(70) { 400 } else { 4_000 };
        let until = match ends {
            Ends::Killed => Instant::now() + Duration::from_millis(30 + dice.throw(longest)),
            Ends::Itself => started + 2 * TIMEOUT,
        };
        let status = loop {
            if let Some(status) = worker.try_wait()? {
                break Some(status);
            }
            watch.look(worker.id());
            if Instant::now() > until {
                worker.kill()?;
                worker.wait()?;
                break None;
            }
            if started.elapsed() > TIMEOUT {
                worker.kill()?;
                return Err(format!("timed out; the model saw {}", model.report()).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        watch.worker_ended(log.session("soak")?.tip.position());
        match status {
            None => kills += 1,
            Some(status) if status.success() => break,
            Some(status) => {
                return Err(format!(
                    "a worker exited with {status}; the model saw {}",
                    model.report()
                )
                .into());
            }
        }
    }
    let seen = model.report();
    watch.measure(&log, directory)?;
    eprintln!(
        "{wire}: {turns} turns, {starts} processes, {kills} killed, {:.1} s, {seen}, {watch}",
        started.elapsed().as_secs_f64()
    );
    watch.check(ends == Ends::Itself)?;
    check(&log, &journal, &model, turns)
}

fn check(log: &Log, journal: &Path, model: &Model, turns: u64) -> Result<(), Failed> {
    let problems = log.verify(|_, _| ())?.problems;
    if !problems.is_empty() {
        return Err(format!("the log is damaged: {problems:?}").into());
    }
    let entries = log.entries("soak")?;
    let texts: Vec<String> =
        entries.iter().map(|entry| entry.message(parse_stored).text()).collect();
    let text = texts.join("\n");
    for line in std::fs::read_to_string(journal)?.lines() {
        let missing = !text.contains(&format!("<{line}>"));
        if missing {
            return Err(format!("{line} was received but is not in the log").into());
        }
    }
    for turn in 0..turns {
        if text.matches(&format!("<turn {turn}>")).count() != 1 {
            return Err(format!("turn {turn} is not in the log exactly once").into());
        }
    }
    let folds = log.generations("soak")?.len();
    model.check(folds)
}
