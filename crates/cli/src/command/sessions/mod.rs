//! `waterline sessions`: work with stored sessions. One file per subcommand.

mod backup;
mod checkpoints;
mod clean;
mod diff;
mod erase;
mod export;
mod fork;
mod import;
mod list;
mod redo;
mod rename;
mod restore;
mod rewind;
mod search;
mod show;
mod stats;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use waterline_log::{Relation, Session};

use crate::db::Database;
use crate::show::plain;
use crate::text;

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
    List(list::Arguments),
    Show(show::Arguments),
    Fork(fork::Arguments),
    Rewind(rewind::Arguments),
    #[command(alias = "forward")]
    Redo(redo::Arguments),
    Checkpoints(checkpoints::Arguments),
    Restore(restore::Arguments),
    Rename(rename::Arguments),
    Diff(diff::Arguments),
    Search(search::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Verify(verify::Arguments),
    Clean(clean::Arguments),
    #[command(alias = "delete")]
    Erase(erase::Arguments),
    Backup(backup::Arguments),
    Stats(stats::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let database = &arguments.database;
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, database),
        Command::Show(arguments) => show::run(arguments, database),
        Command::Fork(arguments) => fork::run(arguments, database),
        Command::Rewind(arguments) => rewind::run(arguments, database),
        Command::Redo(arguments) => redo::run(arguments, database),
        Command::Checkpoints(arguments) => checkpoints::run(arguments, database),
        Command::Restore(arguments) => restore::run(arguments, database),
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

/// Formats how long ago a time was.
fn ago(now: i64, then: i64) -> String {
    let seconds = (now - then).max(0) / 1_000;
    match seconds {
        0..60 => text!("ago-seconds", count = seconds),
        60..3_600 => text!("ago-minutes", count = seconds / 60),
        3_600..86_400 => text!("ago-hours", count = seconds / 3_600),
        _ => text!("ago-days", count = seconds / 86_400),
    }
}

/// Returns the label of a session's relation to its parent.
fn relation(relation: Relation) -> String {
    text!("session-relation", name = relation.name())
}

/// The fewest digits of a shortened id.
const SHORT: usize = 8;

/// Returns the shortest prefix of an id that is unique among the sorted ids.
fn short(id: &str, sorted: &[&str]) -> String {
    let (Ok(at) | Err(at)) = sorted.binary_search(&id);
    let neighbors = [at.checked_sub(1), at.checked_add(1)]
        .into_iter()
        .flatten()
        .filter_map(|at| sorted.get(at));
    let same = |other: &&str| id.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longest = neighbors.map(same).max().unwrap_or_default();
    plain(&id.chars().take((longest + 1).max(SHORT)).collect::<String>())
}

/// Returns the ids of sessions, sorted.
fn ids(sessions: &[Session]) -> Vec<&str> {
    let mut ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    ids
}
