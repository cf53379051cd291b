//! The connection to an MCP server: the handshake, tool calls, and error messages.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ErrorCode, Implementation, JsonObject, ProtocolVersion,
};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::{RoleClient, ServiceError};

use waterline::phrase;
use waterline::phrase::Phrase;

use super::config::{Server, Transport};
use super::listing::{self, Listing};
use super::problem::{ServerProblem, ServerProblemKind};
use super::{sanitize, start};
use crate::tool::Failure;

/// Maximum number of characters of a server's message in an error.
const ERROR_CHARS: usize = 1_000;

async fn handshake(
    server: &Server,
) -> Result<RunningService<RoleClient, ClientConfig>, ServerProblem> {
    let implementation = Implementation::new("waterline", env!("CARGO_PKG_VERSION"));
    // No capabilities: a server may request nothing from this client. The version is the newest one
    // with a handshake: few servers support the next one, and most of those support this one too.
    let client = ClientConfig::new(ClientCapabilities::default(), implementation)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let connected = match &server.transport {
        Transport::Command { program, arguments, environment, directory } => {
            rmcp::serve_client(
                client,
                start::process(&server.name, program, arguments, environment, directory)?,
            )
            .await
        }
        Transport::Http { url, headers } => {
            rmcp::serve_client(client, start::http(server, url, headers)?).await
        }
    };
    connected.map_err(|error| {
        let why = match &error {
            ClientInitializeError::TransportError { error, .. } => sanitize::reason(&*error.error),
            ClientInitializeError::ConnectionClosed(_) => {
                return ServerProblemKind::Closed.of(&server.name);
            }
            ClientInitializeError::JsonRpcError(error) => error.message.as_ref().into(),
            other => other.to_string().into(),
        };
        ServerProblemKind::Connect(shown(server, why)).of(&server.name)
    })
}

/// The client side of a running server.
#[derive(Debug)]
pub(super) struct Client {
    server: Server,
    running: RunningService<RoleClient, ClientConfig>,
}

impl Client {
    /// Starts or connects to a server and lists its tools.
    pub(super) async fn start(server: &Server) -> Result<(Self, Listing), ServerProblem> {
        let work = async {
            let running = handshake(server).await?;
            let offered = listing::list(server, &running).await.map_err(|error| {
                ServerProblemKind::List(describe(server, &error)).of(&server.name)
            })?;
            Ok::<_, ServerProblem>((running, offered))
        };
        let Ok(done) = tokio::time::timeout(server.timeout, work).await else {
            return Err(ServerProblemKind::Timeout(server.timeout).of(&server.name));
        };
        let (running, offered) = done?;
        Ok((Self { server: server.clone(), running }, offered))
    }

    /// Calls a tool by the name the server gave it.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult, Failure> {
        let Server { name, timeout, .. } = &self.server;
        if self.running.is_transport_closed() {
            return Err(Failure::new(format!(
                "MCP server {name} has exited; its tools are no longer available."
            )));
        }
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        // Dropping the call, after the timeout or by the caller, also cancels it at the server.
        let Ok(answer) = tokio::time::timeout(*timeout, self.running.call_tool_once(request)).await
        else {
            // Not retried: the server may have carried out the call.
            return Err(Failure::new(format!(
                "MCP server {name}: {tool} timed out after {timeout:?}. It may still have taken \
                 effect."
            )));
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(_) => Err(Failure::new(format!(
                "MCP server {name}: {tool} requested user input, which is not supported."
            ))),
            Err(error) => Err(self.failure(tool, &error).await),
        }
    }

    async fn failure(&self, tool: &str, error: &ServiceError) -> Failure {
        let name = &self.server.name;
        // Servers have no common error code for an unknown tool, so the tools are listed again.
        let codes = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS];
        let may_be_unknown =
            matches!(error, ServiceError::McpError(error) if codes.contains(&error.code));
        if may_be_unknown && self.lacks(tool).await {
            return Failure::new(format!("MCP server {name} no longer has the tool {tool}."));
        }
        // Never transient: the server may have carried out the call.
        Failure::new(format!("MCP server {name}: {tool} failed: {}", describe(&self.server, error)))
    }

    /// Returns whether the server lists its tools without this one.
    async fn lacks(&self, tool: &str) -> bool {
        let only = Server { tools: Some(vec![tool.to_owned()]), ..self.server.clone() };
        let listing = listing::list(&only, &self.running);
        let listed = tokio::time::timeout(self.server.timeout, listing).await;
        matches!(listed, Ok(Ok(listing)) if listing.known.is_empty() && listing.refused.is_empty())
    }
}

/// Describes a failed request.
fn describe(server: &Server, error: &ServiceError) -> Phrase {
    let why = match error {
        ServiceError::McpError(error) => error.message.as_ref().into(),
        ServiceError::TransportSend(error) => sanitize::reason(&*error.error),
        ServiceError::TransportClosed => phrase!(
            "server-lost",
            "the server exited or the connection was lost before it answered"
        ),
        ServiceError::UnexpectedResponse => {
            phrase!("server-protocol", "the answer violates the protocol")
        }
        other => other.to_string().into(),
    };
    shown(server, why)
}

/// Prepares a server's message for an error. Secrets are removed before it is truncated: half a
/// secret would not be found.
fn shown(server: &Server, why: Phrase) -> Phrase {
    let plain = sanitize::plain(&server.transport.redacted(why.as_str()), ERROR_CHARS);
    if plain == why.as_str() { why } else { plain.into() }
}
