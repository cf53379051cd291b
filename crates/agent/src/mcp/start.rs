//! Starts MCP servers and opens connections to them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Stdio;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, Command};

use super::config::Server;
use super::http::HttpClient;
use super::problem::{ServerProblem, ServerProblemKind};
use super::sanitize;

/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 10;

/// Starts a program. It is killed when the returned handle is dropped.
pub(super) fn process(
    name: &str,
    program: &str,
    arguments: &[String],
    environment: &BTreeMap<String, String>,
    directory: &Path,
) -> Result<TokioChildProcess, ServerProblem> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment).current_dir(directory);
    // The transport asks the program to exit and kills it if it does not. This covers the case that
    // the runtime ends first.
    command.kill_on_drop(true);
    // Ctrl-C must interrupt the agent, not the servers it continues to use.
    #[cfg(unix)]
    command.process_group(0);
    let started = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn();
    let (process, errors) = started.map_err(|error| {
        let missing = Some(directory.to_owned()).filter(|_| !directory.is_dir());
        let kind = ServerProblemKind::Start {
            program: program.to_owned(),
            directory: missing,
            why: error.into(),
        };
        kind.of(name)
    })?;
    if let Some(errors) = errors {
        tokio::spawn(log_stderr(name.to_owned(), errors));
    }
    Ok(process)
}

/// Logs the standard error of a program. It must be read, or the program would block once the pipe
/// is full.
async fn log_stderr(server: String, mut errors: ChildStderr) {
    let mut bytes = [0; 4_096];
    while let Ok(count @ 1..) = errors.read(&mut bytes).await {
        let text = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default());
        let stderr = text.trim_end();
        tracing::debug!(target: "waterline::mcp", server = server.as_str(), stderr);
    }
}

/// Creates an HTTP transport. Nothing is sent yet.
pub(super) fn http(
    server: &Server,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<HttpClient>, ServerProblem> {
    let invalid = |header: &String| ServerProblemKind::Header(header.clone()).of(&server.name);
    let mut sent = HashMap::new();
    for (header, value) in headers {
        let header_name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| invalid(header))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid(header))?;
        value.set_sensitive(true);
        sent.insert(header_name, value);
    }
    // No idle connections, as in the SDK's client: a connection whose answer was not read to the
    // end stalls the next request.
    let client = waterline_provider::address::client()
        .connect_timeout(server.timeout)
        .pool_max_idle_per_host(0);
    let client = client
        .redirect(same_origin())
        .build()
        .map_err(|error| ServerProblemKind::Connect(sanitize::reason(&error)).of(&server.name))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(sent);
    Ok(StreamableHttpClientTransport::with_client(HttpClient(client), config))
}

/// Follows redirects only to the same origin, so that no other server receives the headers, and
/// only those that keep the body.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let is_same_origin = attempt
            .previous()
            .first()
            .is_some_and(|first| first.origin() == attempt.url().origin());
        let keeps_body = [307, 308].contains(&attempt.status().as_u16());
        let follows = is_same_origin && keeps_body && attempt.previous().len() <= MAX_REDIRECTS;
        if follows { attempt.follow() } else { attempt.stop() }
    })
}
