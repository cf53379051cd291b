//! Where the sessions are: `--db`, the environment, or the user's own data folder.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use waterline_config::trust::make_private;
use waterline_log::{Log, Session};

use crate::environment::environment;

/// The variable that names the log for every command.
const VARIABLE: &str = "WATERLINE_DB";

/// Which log.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Database {
    /// The log: a file, or postgres://user@host/database (default: $WATERLINE_DB, else
    /// waterline/sessions.db in the user's data folder)
    #[arg(long = "db", value_name = "URL", global = true)]
    url: Option<String>,
}

/// A log to take sessions from, for commands that otherwise read files.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Stored {
    /// Take stored sessions from this log: a file, or postgres://user@host/database
    #[arg(long = "db", value_name = "URL")]
    url: Option<String>,
}

impl Stored {
    /// The log, if one is named.
    pub fn open(&self) -> Result<Option<Log>> {
        let database = self.url.clone().map(|url| Database { url: Some(url) });
        database.map(|database| database.open_existing()).transpose()
    }
}

impl Database {
    /// Opens the log; one that is not there yet is made.
    pub fn open(&self) -> Result<Log> {
        let url = match self.url()? {
            Some(url) => url,
            None => {
                let path = default_path()?;
                let folder = path.parent().unwrap_or(&path);
                make_private(folder)
                    .with_context(|| format!("cannot make {}", folder.display()))?;
                path.display().to_string()
            }
        };
        Ok(Log::open(&url)?)
    }

    /// Opens the log to look at it; one that is not there is an error.
    pub fn open_existing(&self) -> Result<Log> {
        let url = match self.url()? {
            Some(url) => url,
            None => default_path()?.display().to_string(),
        };
        let is_server = url.starts_with("postgres://") || url.starts_with("postgresql://");
        let file =
            url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or(&url);
        let is_there =
            std::fs::metadata(file).is_ok_and(|metadata| metadata.is_dir() || metadata.len() > 0);
        if !is_server && !file.contains("://") && !file.contains("password=") && !is_there {
            bail!(
                "there is no log at {file} yet; `waterline sessions import FILE --db {file}` makes one"
            );
        }
        Ok(Log::open(&url)?)
    }

    /// Whether a flag names it.
    pub const fn is_named(&self) -> bool {
        self.url.is_some()
    }

    fn url(&self) -> Result<Option<String>> {
        match &self.url {
            // Most likely a variable that is not set: the user's own log is not meant.
            Some(url) if url.is_empty() => bail!("--db names no log"),
            Some(url) => Ok(Some(url.clone())),
            None => Ok(environment().variable(VARIABLE)),
        }
    }
}

/// The log that is used where no flag names one, as it may be shown; and the variable that names
/// it, if one does.
pub fn usual() -> Result<(String, Option<&'static str>)> {
    match environment().variable(VARIABLE) {
        Some(url) => Ok((shown(&url), Some(VARIABLE))),
        None => Ok((default_path()?.display().to_string(), None)),
    }
}

/// The address of a log without what may be secret in it: a name with a password, and settings.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            // A password may hold any of the signs.
            let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
            format!("{scheme}://{}", place.split('?').next().unwrap_or_default())
        }
        None if url.contains("password=") => "(set)".to_owned(),
        None => url.to_owned(),
    }
}

/// The log of somebody who names none.
fn default_path() -> Result<PathBuf> {
    Ok(data_folder()?.join("sessions.db"))
}

/// The user's own data directory.
pub fn data_folder() -> Result<PathBuf> {
    Ok(environment().data_directory()?)
}

/// The sessions of these ids, or of which the id begins so; all where none is given.
pub fn chosen(log: &Log, ids: &[String]) -> Result<Vec<Session>> {
    if ids.is_empty() {
        return Ok(log.sessions(&waterline_log::Filter::default())?);
    }
    ids.iter().map(|id| Ok(log.find(id)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(
            shown("postgres://me:h?u@sh@host:5432/db?password=hush"),
            "postgres://host:5432/db"
        );
        assert_eq!(shown("host=h password=hush"), "(set)");
        assert_eq!(shown("/home/a@b/what?.db"), "/home/a@b/what?.db");
    }
}
