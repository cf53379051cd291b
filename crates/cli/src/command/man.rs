//! `waterline man`: the manual pages, from the definition that arguments are parsed by.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::input::output;

/// Print the manual page, or write the pages of all commands into a directory
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The directory for one page a command; without it the program's own page is printed
    directory: Option<PathBuf>,
}

/// Writes the pages of `program`.
pub fn run(arguments: &Arguments, program: clap::Command) -> Result<ExitCode> {
    if let Some(directory) = &arguments.directory {
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(program, directory));
        written.with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(program).render(&mut page)?;
    let mut out = output();
    out.write_all(&page)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
