//! `waterline sessions backup`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use waterline_log::Backup;

use crate::db::Database;
use crate::text;

/// Copy the whole log to a file while it is in use
///
/// A SQLite log becomes a database file, a PostgreSQL log JSON lines for `import`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// File to write
    file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, database: &Database) -> Result<ExitCode> {
    let log = database.open_existing()?;
    let file = &arguments.file;
    let path = file.display().to_string();
    if file.exists() && !arguments.force {
        bail!(text!("file-exists", path = path));
    }
    let done = match log.backup(file)? {
        Backup::Database => text!("backup-database", path = path),
        Backup::Lines => text!("backup-lines", path = path),
    };
    anstream::eprintln!("{done}");
    Ok(ExitCode::SUCCESS)
}
