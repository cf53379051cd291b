//! `waterline sandbox-exec`: confines itself and becomes a command. Only this program starts it.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use waterline_agent::sandbox;

/// The exit status of a shell that could not start a command.
const NOT_STARTED: u8 = 126;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What the command may do, as JSON
    rules: String,
    /// The command
    #[arg(last = true)]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let why = sandbox::enter(&arguments.rules, &arguments.command);
    anstream::eprintln!("the command could not be confined and was not run: {why}");
    Ok(ExitCode::from(NOT_STARTED))
}
