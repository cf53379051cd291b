//! `waterline sessions backup`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::Backup;

use crate::db::Database;

/// Copy everything into a file, while the log is used: a database file, or of PostgreSQL JSON lines
/// for `import`
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file to write
    file: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let file = &arguments.file;
    if file.exists() && !arguments.force {
        bail!("{} is there already; `--force` writes over it", file.display());
    }
    let kind = match log.backup(file)? {
        Backup::Database => "a database that can be opened with --db",
        Backup::Lines => "JSON lines that `waterline sessions import` takes",
    };
    anstream::eprintln!("{}: {kind}", file.display());
    Ok(ExitCode::SUCCESS)
}
