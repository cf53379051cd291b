//! `waterline completions`: prints the completion script for a shell.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap_complete::Shell;

use crate::input::output;

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Shell to generate the script for
    shell: Shell,
}

/// Writes the script for `program`, the definition of its arguments.
pub fn run(arguments: &Arguments, mut program: clap::Command) -> Result<ExitCode> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut script);
    let mut out = output();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
