//! `waterline man`: the manual pages, made from the definition of the arguments.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::input::output;
use crate::text;

/// Print the manual page, or write the pages of all commands to a directory
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Directory for one page per command (default: print the page of the program)
    directory: Option<PathBuf>,
}

/// Writes the pages of `program`.
pub fn run(arguments: &Arguments, program: clap::Command) -> Result<ExitCode> {
    if let Some(directory) = &arguments.directory {
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| clap_mangen::generate_to(program, directory));
        let path = directory.display().to_string();
        written.with_context(|| text!("cannot-write", path = path))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(program).render(&mut page)?;
    let mut out = output();
    out.write_all(&page)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
