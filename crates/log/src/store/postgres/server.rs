//! Connects to a server: the parameters of a URL, and the connections of the pool.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use waterline::phrase;

use super::handle::{Handle, cause, explain, quoted};
use crate::error::{LogError, Result};
use crate::store::Connection as _;

/// How to reach the server.
pub(super) struct Server {
    pub(super) name: String,
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    pub(super) schema: String,
    pub(super) wait: Duration,
}

/// Returns the URL of a server, without a password.
pub(super) fn name_of(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(String::new, |host| match host {
        postgres::config::Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{host}{port}/{}", config.get_dbname().unwrap_or_default())
}

/// The URL parameters that the driver does not support.
pub(super) struct Parameters {
    pub(super) schema: String,
    pub(super) roots: Option<PathBuf>,
}

pub(super) fn split_parameters(url: &str) -> (String, Parameters) {
    let mut parameters = Parameters { schema: "waterline".to_owned(), roots: None };
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), parameters) };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("schema", schema)) => parameters.schema = schema.to_owned(),
            Some(("sslrootcert", path)) => parameters.roots = Some(PathBuf::from(path)),
            // Certificates are always verified, and the driver does not know these values.
            Some(("sslmode", "verify-full" | "verify-ca")) => rest.push("sslmode=require"),
            _ => rest.push(pair),
        }
    }
    let query = rest.join("&");
    (if query.is_empty() { base.to_owned() } else { format!("{base}?{query}") }, parameters)
}

impl Server {
    /// Connects with a timeout. The driver's timeout covers the TCP connection but not the startup
    /// exchange, so a server that accepts and never answers would block forever. After a timeout,
    /// the connecting thread is abandoned.
    fn connect_with_timeout(&self) -> Result<std::result::Result<Client, postgres::Error>> {
        let config = self.config.clone();
        let tls = self.tls.clone();
        let (reply, answer) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || drop(reply.send(config.connect(tls))));
        answer.recv_timeout(self.wait).map_err(|_| LogError::Connection {
            name: self.name.clone(),
            text: phrase!(
                "log-timed-out",
                "timed out after {wait}",
                wait = format!("{:?}", self.wait)
            ),
        })
    }

    pub(super) fn connect_without_schema(&self) -> Result<Handle> {
        let client = self.connect_with_timeout()?.map_err(|error| match error.as_db_error() {
            // The server refused the connection: wrong password, missing database.
            Some(_) => LogError::Open { name: self.name.clone(), text: cause(&error) },
            None => LogError::Connection { name: self.name.clone(), text: cause(&error) },
        })?;
        Ok(Handle { client, name: self.name.clone(), statements: HashMap::new(), broken: false })
    }
}

impl r2d2::ManageConnection for Server {
    type Connection = Handle;
    type Error = LogError;

    fn connect(&self) -> Result<Handle> {
        let mut handle = self.connect_without_schema()?;
        handle.batch(&format!("SET search_path TO {}", quoted(&self.schema)))?;
        Ok(handle)
    }

    fn is_valid(&self, handle: &mut Handle) -> Result<()> {
        handle.client.is_valid(Duration::from_secs(2)).map_err(|error| explain(&self.name, &error))
    }

    fn has_broken(&self, handle: &mut Handle) -> bool {
        handle.broken || handle.client.is_closed()
    }
}
