//! The log that commands use: from `--db`, the environment, or the user's data directory.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use waterline_config::trust::make_private;
use waterline_log::{Log, Options, Session, may_have_password};

use crate::environment::environment;
use crate::text;

/// The variable that names the log for every command.
const VARIABLE: &str = "WATERLINE_DB";

/// The flag that names the log.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Database {
    /// Log to use: a file, or postgres://user@host/database (default: $WATERLINE_DB, else
    /// waterline/sessions.db in the data directory)
    #[arg(long = "db", value_name = "URL", global = true)]
    url: Option<String>,
}

/// The flag that names a log, for commands that otherwise read files.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Stored {
    /// Read stored sessions from this log: a file, or postgres://user@host/database
    #[arg(long = "db", value_name = "URL")]
    url: Option<String>,
}

impl Stored {
    /// Opens the log, if one is named.
    pub fn open(&self) -> Result<Option<Log>> {
        let database = self.url.clone().map(|url| Database { url: Some(url) });
        database.map(|database| database.open_existing()).transpose()
    }

    /// Returns the log that a command with this flag uses for preferences: the named one, else the
    /// usual one.
    pub fn database(&self) -> Database {
        Database { url: self.url.clone() }
    }
}

impl Database {
    /// Opens the log, or creates it.
    pub fn open(&self) -> Result<Log> {
        self.open_with(&Options::default())
    }

    /// Opens the log with options, or creates it.
    pub fn open_with(&self, options: &Options) -> Result<Log> {
        let url = match self.url()? {
            Some(url) => url,
            None => {
                let path = default_path()?;
                let directory = path.parent().unwrap_or(&path);
                make_private(directory).with_context(|| {
                    text!("cannot-create", path = directory.display().to_string())
                })?;
                path.display().to_string()
            }
        };
        Ok(Log::open_with(&url, options)?)
    }

    /// Opens the log; it is an error if it does not exist.
    pub fn open_existing(&self) -> Result<Log> {
        self.open_existing_with(&Options::default())
    }

    /// Like [`Self::open_existing`], for a command that reports damage and saves what is readable.
    pub fn open_damaged(&self) -> Result<Log> {
        self.open_existing_with(&Options::default().with_salvage(true))
    }

    fn open_existing_with(&self, options: &Options) -> Result<Log> {
        let (file, log) = self.open_known(options)?;
        let Some(log) = log else { bail!(text!("db-missing", path = file)) };
        Ok(log)
    }

    /// Opens the log if it exists.
    pub fn find(&self) -> Result<Option<Log>> {
        Ok(self.open_known(&Options::default())?.1)
    }

    /// Returns the file or address of the log, and the log if it exists.
    fn open_known(&self, options: &Options) -> Result<(String, Option<Log>)> {
        let url = match self.url()? {
            Some(url) => url,
            None => default_path()?.display().to_string(),
        };
        let is_server = url.starts_with("postgres:") || url.starts_with("postgresql:");
        let file =
            url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or(&url);
        let exists =
            std::fs::metadata(file).is_ok_and(|metadata| metadata.is_dir() || metadata.len() > 0);
        // A mistyped address is an error that does not show its password.
        let is_address = file.contains("://") || may_have_password(file);
        if !is_server && !is_address && !exists {
            return Ok((file.to_owned(), None));
        }
        let log = Log::open_with(&url, options)?;
        Ok((url, Some(log)))
    }

    /// Whether the flag names a log.
    pub const fn is_named(&self) -> bool {
        self.url.is_some()
    }

    fn url(&self) -> Result<Option<String>> {
        match &self.url {
            // Most likely an unset variable: the user's own log is not meant.
            Some(url) if url.is_empty() => bail!(text!("db-empty")),
            Some(url) => Ok(Some(url.clone())),
            None => Ok(environment().variable(VARIABLE)),
        }
    }
}

/// Returns the log that is used without a flag, safe to show, and the variable that names it, if
/// one does.
pub fn usual() -> Result<(String, Option<&'static str>)> {
    match environment().variable(VARIABLE) {
        Some(url) => Ok((shown(&url), Some(VARIABLE))),
        None => Ok((default_path()?.display().to_string(), None)),
    }
}

/// Returns the URL of a log without its possible secrets: user, password and options.
fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            // A password may contain `@` and `?`.
            let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
            format!("{scheme}://{}", host.split('?').next().unwrap_or_default())
        }
        None if may_have_password(url.strip_prefix("sqlite:").unwrap_or(url))
            || url.starts_with("postgres") && url.contains('@') =>
        {
            "(set)".to_owned()
        }
        None => url.to_owned(),
    }
}

fn default_path() -> Result<PathBuf> {
    Ok(data_directory()?.join("sessions.db"))
}

/// Returns the user's data directory.
pub fn data_directory() -> Result<PathBuf> {
    Ok(environment().data_directory()?)
}

/// Returns the default log if it has a session with this id or unique prefix. A log that cannot be
/// opened has none.
pub fn in_default_log(id: &str) -> Option<Log> {
    let log = Database::default().open_existing().ok()?;
    log.find(id).is_ok().then_some(log)
}

/// Returns the sessions with these ids or unique prefixes; all sessions if none is given.
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
    fn a_url_is_shown_without_its_password() {
        assert_eq!(
            shown("postgres://me:h?u@sh@host:5432/db?password=hush"),
            "postgres://host:5432/db"
        );
        assert_eq!(shown("host=h password=hush"), "(set)");
        assert_eq!(shown("postgresql:/me:hush@host/db"), "(set)");
        assert_eq!(shown("me:hush@host/db"), "(set)");
        assert_eq!(shown("/home/a@b/what?.db"), "/home/a@b/what?.db");
    }
}
