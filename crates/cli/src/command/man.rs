//! `waterline man`: the manual pages, made from the definition of the arguments.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;

use crate::help::manual_page;
use crate::input::output;
use crate::text;

/// Print the manual page, or write the pages of all commands to a directory
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Directory for one page per command (default: print the page of the program)
    directory: Option<PathBuf>,
}

/// Writes the pages of `program`.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<ExitCode> {
    program.build();
    if let Some(directory) = &arguments.directory {
        let written =
            std::fs::create_dir_all(directory).and_then(|()| write_pages(&program, directory));
        let path = directory.display().to_string();
        written.with_context(|| text!("cannot-write", path = path))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output();
    out.write_all(page(&Man::new(program))?.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its subcommands.
fn write_pages(command: &Command, directory: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, directory)?;
    }
    let man = Man::new(command.clone());
    std::fs::write(directory.join(man.get_filename()), page(&man)?)
}

fn page(man: &Man) -> std::io::Result<String> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(manual_page(String::from_utf8_lossy(&page).into_owned()))
}
