//! `waterline models`: the encoders for search by meaning. One file per subcommand.

mod add;
mod list;
mod remove;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use waterline_config::{Config, model_directory};
use waterline_log::Log;
use waterline_memory::encoder::{ModelDirectory, ModelKind};

use crate::db::Database;
use crate::environment::environment;
use crate::text;

/// Add, list and remove encoders for search by meaning
///
/// An encoder turns texts into vectors, so that a search finds messages by their meaning. The
/// language model that answers is chosen with --model, in the config, or with /model in the chat.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    database: Database,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Add(add::Arguments),
    List(list::Arguments),
    Remove(remove::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Add(arguments) => add::run(arguments),
        Command::List(own) => list::run(own, &arguments.database),
        Command::Remove(own) => remove::run(own, &arguments.database),
    }
}

/// Returns the directory of the encoders. It does not depend on the config files.
fn directory() -> Result<ModelDirectory> {
    Ok(model_directory(&Config::empty(Arc::clone(environment())))?)
}

/// Opens the log, if there is one.
fn existing_log(database: &Database) -> Result<Option<Log>> {
    match database.is_named() {
        true => database.open_existing().map(Some),
        false => Ok(database.open_existing().ok()),
    }
}

/// Returns what an encoder is made of.
pub fn kind(kind: ModelKind) -> String {
    match kind {
        ModelKind::Sentences => text!("models-kind-sentences"),
        ModelKind::Multilingual => text!("models-kind-multilingual"),
        ModelKind::Words => text!("models-kind-words"),
    }
}
