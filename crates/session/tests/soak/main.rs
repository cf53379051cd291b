//! The soak: many turns of generated traffic with large tool results and parallel calls, against a
//! model with faults, in processes that are killed at any moment. Every request must be valid and
//! inside the window, every answer that came must be in the log, and between folds what was sent
//! must stay as it was.
//!
//! With `WATERLINE_SOAK_DUMP=FOLDER` every context is written there, one a line, as an independent
//! checker reads them.
//!
//! A few turns run with the other tests. `scripts/soak` runs 2,000 on each wire and both databases.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking; the cases are no `#[test]` functions, so the lints do not know"
)]

mod model;
mod worker;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use model::Model;
use waterline::message::Wire;
use waterline_log::{Log, Session};
use waterline_provider::wire::parse_stored;
use waterline_testkit::dice::Dice;

/// Tokens that the model takes, by its own count.
pub const WINDOW: usize = 16_000;

/// A case that takes longer is stuck.
const PATIENCE: Duration = Duration::from_secs(1_200);

fn main() {
    if let Ok(orders) = std::env::var(worker::ORDERS) {
        worker::run(&orders);
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
            let folder = tempfile::tempdir()?;
            let url = folder.path().join("log.db").display().to_string();
            soak(&url, folder.path(), wire, seed, turns)
        }));
        let server = postgres.clone();
        let trial = Trial::test(format!("postgres::{wire}"), move || {
            let server = server.ok_or("WATERLINE_TEST_POSTGRES names no server")?;
            let mark = if server.contains('?') { '&' } else { '?' };
            let folder = tempfile::tempdir()?;
            soak(
                &format!("{server}{mark}schema=soak_{}_{seed}", std::process::id()),
                folder.path(),
                wire,
                seed,
                turns,
            )
        });
        trials.push(trial.with_ignored_flag(postgres.is_none()));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Runs workers, kills them, and looks at what they left.
fn soak(url: &str, folder: &Path, wire: Wire, seed: u64, turns: u64) -> Result<(), Failed> {
    let log = Log::open(url)?;
    log.create(Session::new("soak"))?;
    let model = Model::start(wire, seed)?;
    let journal = folder.join("journal");
    let mut dice = Dice::new(seed);
    let (mut kills, mut starts) = (0, 0);
    let started = Instant::now();
    loop {
        let mut worker = Command::new(std::env::current_exe()?)
            .env(
                worker::ORDERS,
                worker::orders(url, &model.url, wire, turns, seed * 1_000 + starts, &journal),
            )
            .stdin(Stdio::null())
            .spawn()?;
        starts += 1;
        // All are killed, most of them soon, but the one that gets to the end before.
        let longest = if dice.percent(70) { 400 } else { 4_000 };
        let until = Instant::now() + Duration::from_millis(30 + dice.throw(longest));
        let status = loop {
            if let Some(status) = worker.try_wait()? {
                break Some(status);
            }
            if Instant::now() > until {
                worker.kill()?;
                worker.wait()?;
                break None;
            }
            if started.elapsed() > PATIENCE {
                worker.kill()?;
                return Err(format!("stuck; the model saw {}", model.report()).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        match status {
            None => kills += 1,
            Some(status) if status.success() => break,
            Some(status) => {
                return Err(format!(
                    "a worker ended with {status}; the model saw {}",
                    model.report()
                )
                .into());
            }
        }
    }
    let seen = model.report();
    eprintln!(
        "{wire}: {turns} turns, {starts} processes, {kills} killed, {:.1} s, {seen}",
        started.elapsed().as_secs_f64()
    );
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
            return Err(format!("{line} came and is not in the log").into());
        }
    }
    for turn in 0..turns {
        if text.matches(&format!("<turn {turn}>")).count() != 1 {
            return Err(format!("turn {turn} is not in the log once").into());
        }
    }
    let folds = log.generations("soak")?.len();
    model.check(folds)
}
