//! `waterline sessions`: what is stored, and what can be done with it. One file a subcommand.

mod backup;
mod clean;
mod diff;
mod erase;
mod export;
mod fork;
mod forward;
mod import;
mod list;
mod rename;
mod rewind;
mod search;
mod show;
mod stats;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use waterline_log::Session;

use crate::db::Database;
use crate::show::plain;

/// List, show, fork, rewind, import and export stored sessions
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    database: Database,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the sessions, the one used last first
    List(list::Arguments),
    /// Show a session: what it carries, and what was said
    Show(show::Arguments),
    /// Go on from a message of a session in a new one
    Fork(fork::Arguments),
    /// Go back in a session; what comes after is kept
    Rewind(rewind::Arguments),
    /// Go on to what a rewind left
    Forward(forward::Arguments),
    /// Give a session another title
    Rename(rename::Arguments),
    /// Compare two sessions: what they share, and where they part
    Diff(diff::Arguments),
    /// Find messages by their words
    Search(search::Arguments),
    /// Write sessions as JSON lines
    Export(export::Arguments),
    /// Take in session files of any known format, and exports
    Import(import::Arguments),
    /// Hash everything again
    Verify(verify::Arguments),
    /// Delete sessions that nobody has used for long, and old workspaces
    Clean(clean::Arguments),
    /// Delete a session, or everything of a user, for good
    Erase(erase::Arguments),
    /// Copy everything into a file, while the log is used
    Backup(backup::Arguments),
    /// Say how much there is
    Stats(stats::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let database = &arguments.database;
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, database),
        Command::Show(arguments) => show::run(arguments, database),
        Command::Fork(arguments) => fork::run(arguments, database),
        Command::Rewind(arguments) => rewind::run(arguments, database),
        Command::Forward(arguments) => forward::run(arguments, database),
        Command::Rename(arguments) => rename::run(arguments, database),
        Command::Diff(arguments) => diff::run(arguments, database),
        Command::Search(arguments) => search::run(arguments, database),
        Command::Export(arguments) => export::run(arguments, database),
        Command::Import(arguments) => import::run(arguments, database),
        Command::Verify(arguments) => verify::run(arguments, database),
        Command::Clean(arguments) => clean::run(arguments, database),
        Command::Erase(arguments) => erase::run(arguments, database),
        Command::Backup(arguments) => backup::run(arguments, database),
        Command::Stats(arguments) => stats::run(arguments, database),
    }
}

/// How long ago something was.
fn ago(now: i64, then: i64) -> String {
    let seconds = (now - then).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// Shorter than this an id is not cut.
const SHORT: usize = 8;

/// As much of an id as tells it from the others, which are sorted: what a person has to type.
fn short(id: &str, sorted: &[&str]) -> String {
    let (Ok(at) | Err(at)) = sorted.binary_search(&id);
    let neighbours = [at.checked_sub(1), at.checked_add(1)]
        .into_iter()
        .flatten()
        .filter_map(|at| sorted.get(at));
    let same = |other: &&str| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longest = neighbours.map(same).max().unwrap_or_default();
    plain(&id.chars().take((longest + 1).max(SHORT)).collect::<String>())
}

/// The ids of sessions, sorted.
fn ids(sessions: &[Session]) -> Vec<&str> {
    let mut ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    ids
}
