//! Lists the tools of a server within limits. A server is untrusted: it may list tools without end,
//! or definitions that fill the model's window.

use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceError};

use super::config::Server;
use super::problem::{ServerProblem, ServerProblemKind};

/// Maximum number of tools of one server.
const MAX_TOOLS: usize = 200;

/// Maximum number of pages that are requested.
const MAX_PAGES: usize = 50;

/// Maximum size of the definition of one tool.
const MAX_TOOL_BYTES: usize = 64 << 10;

/// Maximum size of all definitions of one server.
const MAX_BYTES: usize = 1 << 20;

/// The tools of a server.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) tools: Vec<Tool>,
    /// Configured tools that the server lists, whether they are used or not.
    pub(super) known: Vec<String>,
    /// What was refused, for the user.
    pub(super) refused: Vec<ServerProblem>,
    bytes: usize,
    /// Tools that were left out because of a limit.
    left_out: usize,
}

/// Lists the tools that the configuration enables, as far as they are within the limits.
pub(super) async fn list<S: rmcp::service::Service<RoleClient>>(
    server: &Server,
    running: &RunningService<RoleClient, S>,
) -> Result<Listing, ServiceError> {
    let mut listing = Listing::default();
    let mut cursor: Option<String> = None;
    for page in 1.. {
        let request = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let result = running.list_tools(Some(request)).await?;
        result.tools.into_iter().for_each(|tool| listing.add(server, tool));
        let is_full = listing.tools.len() >= MAX_TOOLS && listing.left_out > 0;
        match result.next_cursor {
            None => break,
            next if next == cursor || page == MAX_PAGES || is_full => {
                listing.refuse(server, ServerProblemKind::EndlessList);
                break;
            }
            next => cursor = next,
        }
    }
    if listing.left_out > 0 {
        let kind = ServerProblemKind::TooManyTools {
            left_out: listing.left_out,
            most: MAX_TOOLS,
            kilobytes: MAX_BYTES >> 10,
        };
        listing.refuse(server, kind);
    }
    Ok(listing)
}

impl Listing {
    fn add(&mut self, server: &Server, tool: Tool) {
        let is_enabled = |only: &Vec<String>| only.iter().any(|name| *name == tool.name);
        if !server.tools.as_ref().is_none_or(is_enabled)
            || self.tools.iter().any(|known| known.name == tool.name)
        {
            return;
        }
        if server.tools.is_some() {
            self.known.push(tool.name.to_string());
        }
        let bytes = size(&tool);
        if bytes > MAX_TOOL_BYTES {
            let tool = super::sanitize::plain(&tool.name, 64);
            let kilobytes = MAX_TOOL_BYTES >> 10;
            self.refuse(server, ServerProblemKind::LargeTool { tool, kilobytes });
        } else if self.tools.len() >= MAX_TOOLS || self.bytes + bytes > MAX_BYTES {
            self.left_out += 1;
        } else {
            self.bytes += bytes;
            self.tools.push(tool);
        }
    }

    fn refuse(&mut self, server: &Server, kind: ServerProblemKind) {
        // A server with many large definitions must not fill the screen either.
        const MAX_NOTICES: usize = 5;
        if self.refused.len() < MAX_NOTICES {
            self.refused.push(kind.of(&server.name));
        }
    }
}

fn size(tool: &Tool) -> usize {
    let schema = serde_json::to_vec(&*tool.input_schema).map_or(0, |json| json.len());
    tool.name.len() + tool.description.as_ref().map_or(0, |text| text.len()) + schema
}
