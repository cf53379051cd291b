//! Where the sessions are: `--db`, the environment, or the user's own data folder.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use waterline_log::{Log, Session};

/// The variable that names the log for every command.
const VARIABLE: &str = "WATERLINE_DB";

/// Which log.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Database {
    /// The log: a file, or postgres://user@host/database (default: $WATERLINE_DB, else a file of the user's own)
    #[arg(long = "db", value_name = "URL", global = true)]
    url: Option<String>,
}

impl Database {
    /// Whether one is named on the command line.
    pub const fn is_named(&self) -> bool {
        self.url.is_some()
    }

    /// Opens the log; one that is not there yet is made.
    pub fn open(&self) -> Result<Log> {
        let url = match self.url() {
            Some(url) => url,
            None => {
                let path = default_path()?;
                let folder = path.parent().unwrap_or(&path);
                std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
                path.display().to_string()
            }
        };
        Ok(Log::open(&url)?)
    }

    /// Opens the log to look at it; one that is not there is an error.
    pub fn open_existing(&self) -> Result<Log> {
        let url = self.url().map_or_else(|| default_path().map(|path| path.display().to_string()), Ok)?;
        let is_server = url.starts_with("postgres://") || url.starts_with("postgresql://");
        let file = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or(&url);
        if !is_server && !file.contains("://") && !PathBuf::from(file).exists() {
            bail!("there is no log at {file} yet; `waterline sessions import FILE` makes one");
        }
        Ok(Log::open(&url)?)
    }

    fn url(&self) -> Option<String> {
        self.url.clone().or_else(|| std::env::var(VARIABLE).ok()).filter(|url| !url.is_empty())
    }
}

/// The log of somebody who names none.
fn default_path() -> Result<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = from("XDG_DATA_HOME")
        .or_else(|| from("HOME").map(|home| home.join(".local").join("share")))
        .or_else(|| from("LOCALAPPDATA"));
    let folder = folder.ok_or_else(|| anyhow!("no home folder is known; name a log with --db"))?;
    Ok(folder.join("waterline").join("sessions.db"))
}

/// The sessions of these ids, or of which the id begins so; all where none is given.
pub fn chosen(log: &Log, ids: &[String]) -> Result<Vec<Session>> {
    if ids.is_empty() {
        return Ok(log.sessions(&waterline_log::Filter::default())?);
    }
    ids.iter().map(|id| Ok(log.find(id)?)).collect()
}
