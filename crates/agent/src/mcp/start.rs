//! How a server is started, or the way to it is opened. What is said on that way is not looked at
//! here.

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
use super::words;

/// How often an address may point to another one.
const REDIRECTS: usize = 10;

/// Starts a program. It ends when what is given back is dropped, or when we do.
pub(super) fn process(
    name: &str,
    program: &str,
    arguments: &[String],
    environment: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<TokioChildProcess, String> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment).current_dir(folder);
    // The transport asks it to end and kills it if it does not; when the runtime ends first, nobody
    // is left to do that.
    command.kill_on_drop(true);
    // A person's Ctrl-C interrupts the agent, not the servers that it goes on with.
    #[cfg(unix)]
    command.process_group(0);
    let started = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn();
    let (process, errors) = started.map_err(|error| {
        let where_to =
            if folder.is_dir() { String::new() } else { format!(" in {}", folder.display()) };
        format!("the MCP server {name} cannot be started{where_to}: {program}: {error}")
    })?;
    if let Some(errors) = errors {
        tokio::spawn(trace(name.to_owned(), errors));
    }
    Ok(process)
}

/// Writes down what a program says beside its answers. It has to be read, or the program would wait
/// for that some day.
async fn trace(server: String, mut errors: ChildStderr) {
    let mut bytes = [0; 4_096];
    while let Ok(count @ 1..) = errors.read(&mut bytes).await {
        let said = String::from_utf8_lossy(bytes.get(..count).unwrap_or_default());
        tracing::debug!(target: "waterline::mcp", server = server.as_str(), said = said.trim_end());
    }
}

/// Opens a way over HTTP. Nothing is sent yet.
pub(super) fn http(
    server: &Server,
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let wrong = |what: String| format!("the MCP server {} cannot be reached: {what}", server.name);
    let mut sent = HashMap::new();
    for (header, value) in headers {
        let header_name = HeaderName::from_bytes(header.as_bytes());
        let header_name =
            header_name.map_err(|_| wrong(format!("{header:?} is no name of a header")))?;
        let value = HeaderValue::from_str(value);
        let mut value =
            value.map_err(|_| wrong(format!("the value of the header {header} cannot be sent")))?;
        value.set_sensitive(true);
        sent.insert(header_name, value);
    }
    // As the SDK's own client does: a connection with an answer that was not read to its end makes
    // the next stall.
    let client = waterline_provider::address::client()
        .connect_timeout(server.timeout)
        .pool_max_idle_per_host(0);
    let client =
        client.redirect(at_home()).build().map_err(|error| wrong(words::reason(&error)))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(sent);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Headers go to the server they are meant for, and nowhere that it points to; and no message goes
/// without its body.
fn at_home() -> Policy {
    Policy::custom(|attempt| {
        let same = attempt
            .previous()
            .first()
            .is_some_and(|first| first.origin() == attempt.url().origin());
        let whole = [307, 308].contains(&attempt.status().as_u16());
        let follows = same && whole && attempt.previous().len() <= REDIRECTS;
        if follows { attempt.follow() } else { attempt.stop() }
    })
}
