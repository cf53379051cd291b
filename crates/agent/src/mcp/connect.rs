//! Connects to an MCP server and makes its tools available.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::client::Client;
use super::config::Server;
use super::listing::Listing;
use super::problem::ServerProblem;
use super::sanitize;
use super::tool::McpTool;

/// A connected server. It runs as long as one of its tools exists.
#[derive(Debug)]
#[non_exhaustive]
pub struct Connected {
    /// The enabled tools, sorted by name.
    pub tools: Vec<Arc<McpTool>>,
    /// Tools that the configuration enables and the server does not have.
    pub missing: Vec<String>,
    /// What exceeded a limit and was refused, for the user.
    pub refused: Vec<ServerProblem>,
}

/// Starts or connects to a server and lists its tools.
///
/// # Errors
/// When the server cannot be started or reached, or does not answer in time.
pub async fn connect(server: &Server) -> Result<Connected, ServerProblem> {
    let (client, offered) = Client::start(server).await?;
    let client = Arc::new(client);
    let Listing { mut tools, known, refused, .. } = offered;
    // Sorted, so that the tool list does not depend on the order in which the server lists its
    // tools.
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let configured = server.tools.iter().flatten();
    let missing = configured.filter(|name| !known.contains(name)).cloned().collect();
    let mut taken = BTreeSet::new();
    let tools = tools.into_iter().map(|tool| {
        let name = sanitize::name(&server.name, &tool.name, &mut taken);
        Arc::new(McpTool::new(Arc::clone(&client), name, tool))
    });
    Ok(Connected { tools: tools.collect(), missing, refused })
}
