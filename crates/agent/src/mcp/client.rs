//! A server that runs: how it is greeted, how a tool of it is called, and in which words its
//! troubles are told.

use std::collections::BTreeSet;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ErrorCode, Implementation, JsonObject, ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::{RoleClient, ServiceError};

use super::config::{Server, Transport};
use super::tool::McpTool;
use super::{start, words};
use crate::tool::Failure;

/// How much of a server's words goes into an error.
const ERROR_CHARS: usize = 1_000;

/// A server that answers. It runs as long as one of its tools is kept.
#[derive(Debug)]
pub struct Connected {
    /// Its tools that are enabled, by name.
    pub tools: Vec<Arc<McpTool>>,
    /// Tools that the config enables and the server does not have.
    pub missing: Vec<String>,
}

/// Starts a server, or goes to it, and asks for its tools.
///
/// # Errors
/// When it cannot be started or reached, or does not answer in time: a sentence with its name and
/// the reason.
pub async fn connect(server: &Server) -> Result<Connected, String> {
    let work = async {
        let running = greet(server).await?;
        let offered = running.list_all_tools().await.map_err(|error| {
            format!(
                "the MCP server {} does not list its tools: {}",
                server.name,
                trouble(server, &error)
            )
        })?;
        Ok::<_, String>((running, offered))
    };
    let Ok(done) = tokio::time::timeout(server.timeout, work).await else {
        return Err(format!(
            "the MCP server {} was not ready within {:?}",
            server.name, server.timeout
        ));
    };
    let (running, mut offered) = done?;
    // In an order of our own, so that a model is told the same when a server lists its tools in
    // another one.
    offered.sort_by(|one, other| one.name.cmp(&other.name));
    offered.dedup_by(|one, other| one.name == other.name);
    let missing = server.tools.iter().flatten();
    let missing = missing
        .filter(|name| offered.iter().all(|tool| tool.name != name.as_str()))
        .cloned()
        .collect();
    let enabled =
        |tool: &str| server.tools.as_ref().is_none_or(|only| only.iter().any(|name| name == tool));
    let client = Arc::new(Client { server: server.clone(), running });
    let mut taken = BTreeSet::new();
    let tools = offered.into_iter().filter(|tool| enabled(&tool.name)).map(|tool| {
        let name = words::name(&server.name, &tool.name, &mut taken);
        Arc::new(McpTool::new(Arc::clone(&client), name, tool))
    });
    Ok(Connected { tools: tools.collect(), missing })
}

/// Shakes hands.
async fn greet(server: &Server) -> Result<RunningService<RoleClient, ClientConfig>, String> {
    let own = Implementation::new("waterline", env!("CARGO_PKG_VERSION"));
    // No capabilities: a server has nothing to ask of us. The newest version that begins with a
    // handshake, because few servers understand the one after it, and most of those understand this
    // one too.
    let own = ClientConfig::new(ClientCapabilities::default(), own)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let greeted = match &server.transport {
        Transport::Command { program, arguments, environment, folder } => {
            rmcp::serve_client(
                own,
                start::process(&server.name, program, arguments, environment, folder)?,
            )
            .await
        }
        Transport::Http { url, headers } => {
            rmcp::serve_client(own, start::http(server, url, headers)?).await
        }
    };
    greeted.map_err(|error| {
        let text = match &error {
            ClientInitializeError::TransportError { error, .. } => words::reason(&*error.error),
            ClientInitializeError::ConnectionClosed(_) => {
                "it ended, or broke off the connection, before it answered".to_owned()
            }
            ClientInitializeError::JsonRpcError(said) => said.message.to_string(),
            other => other.to_string(),
        };
        format!("the MCP server {} cannot be reached: {}", server.name, shown(server, &text))
    })
}

/// A server that runs.
#[derive(Debug)]
pub(super) struct Client {
    server: Server,
    running: RunningService<RoleClient, ClientConfig>,
}

impl Client {
    /// Calls a tool by the server's own name of it.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, Failure> {
        let Server { name, timeout, .. } = &self.server;
        if self.running.is_transport_closed() {
            return Err(Failure::new(format!(
                "the MCP server {name} has ended; its tools cannot be called any more"
            )));
        }
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        // A call that is dropped, by the time-out or by whoever waits for us, is cancelled at the
        // server too.
        let Ok(answer) = tokio::time::timeout(*timeout, self.running.call_tool_once(asked)).await
        else {
            // It may have been done all the same: a second try could do it twice.
            return Err(Failure::new(format!(
                "the MCP server {name} did not answer {tool} within {timeout:?}"
            )));
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(_) => Err(Failure::new(format!(
                "the MCP server {name} asks back instead of doing {tool}; it gets no answer"
            ))),
            Err(error) => Err(self.failure(tool, &error).await),
        }
    }

    async fn failure(&self, tool: &str, error: &ServiceError) -> Failure {
        let name = &self.server.name;
        // Servers have no common word for a tool that they do not know, so the list is asked.
        let codes = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS];
        let unknown = matches!(error, ServiceError::McpError(said) if codes.contains(&said.code));
        if unknown && self.lacks(tool).await {
            return Failure::new(format!("the MCP server {name} no longer has the tool {tool}"));
        }
        // Never tried again by itself, whatever broke: the server may have done it.
        Failure::new(format!(
            "the MCP server {name} did not do {tool}: {}",
            trouble(&self.server, error)
        ))
    }

    /// Whether the server lists its tools, and this one not among them.
    async fn lacks(&self, tool: &str) -> bool {
        let listed = tokio::time::timeout(self.server.timeout, self.running.list_all_tools()).await;
        matches!(listed, Ok(Ok(offered)) if offered.iter().all(|known| known.name != tool))
    }
}

/// What went wrong with a request, in words.
fn trouble(server: &Server, error: &ServiceError) -> String {
    let text = match error {
        ServiceError::McpError(said) => said.message.to_string(),
        ServiceError::TransportSend(error) => words::reason(&*error.error),
        ServiceError::TransportClosed => {
            "it ended, or its connection broke, before it answered".to_owned()
        }
        ServiceError::UnexpectedResponse => {
            "its answer is not what the protocol asks for".to_owned()
        }
        other => other.to_string(),
    };
    shown(server, &text)
}

/// A server's words in an error. Secrets first: half of one would not be found any more.
fn shown(server: &Server, text: &str) -> String {
    words::plain(&server.transport.redacted(text), ERROR_CHARS)
}
