//! `waterline bench`: measures parts of the program on recorded data.

mod recall;

use std::process::ExitCode;

use anyhow::Result;

/// Measure search on question sets
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Recall(recall::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.command {
        Command::Recall(arguments) => recall::run(arguments),
    }
}
