//! `waterline sandbox-exec`: the launcher, which keeps a command, and confines itself and becomes it. Only this program starts it.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

/// The exit status of a shell that could not start a command.
const NOT_STARTED: u8 = 126;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What the command may do, as JSON
    order: String,
    /// The command
    #[arg(last = true)]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    #[cfg(target_os = "linux")]
    let entered = waterline_agent::sandbox::enter(&arguments.order, &arguments.command);
    #[cfg(not(target_os = "linux"))]
    let entered = Err::<u8, _>(format!("there is no sandbox here for {arguments:?}"));
    Ok(ExitCode::from(entered.unwrap_or_else(|why| {
        anstream::eprintln!("the command could not be confined and was not run: {why}");
        NOT_STARTED
    })))
}
