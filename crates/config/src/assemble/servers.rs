//! The MCP servers of a config.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use waterline_agent::AgentConfig;
use waterline_agent::mcp::{self, Server, ServerProblem, ServerProblemKind, Transport};

use crate::agent::McpSettings;
use crate::config::Config;
use crate::environment::Environment;
use crate::notice::Notice;

/// Returns the MCP servers that are not disabled.
#[must_use]
pub fn servers(config: &Config) -> Vec<Server> {
    let enabled = config.settings.mcp.iter().filter(|(_, own)| !own.off);
    enabled.map(|(name, own)| server(name, own, &config.environment)).collect()
}

fn server(name: &str, own: &McpSettings, environment: &Environment) -> Server {
    let variable = |name: &str| environment.variable(name);
    let transport = match (&own.command, &own.url) {
        (Some(program), _) => {
            let defaults = ["PATH", "HOME", "LANG"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), variable(name)?)));
            let variables: BTreeMap<String, String> = defaults.chain(own.env.clone()).collect();
            Transport::Command {
                program: program.clone(),
                arguments: own.args.clone(),
                environment: variables,
                directory: start_directory(own.cwd.as_deref(), environment),
            }
        }
        (None, url) => {
            let headers = own
                .header_env
                .iter()
                .filter_map(|(header, name)| Some((header.clone(), variable(name)?)));
            Transport::Http { url: url.clone().unwrap_or_default(), headers: headers.collect() }
        }
    };
    let timeout = Duration::from_secs(own.timeout.unwrap_or(60));
    Server { name: name.to_owned(), transport, tools: own.tools.clone(), timeout }
}

/// Returns the directory a server starts in: the home directory, unless the user's config sets
/// another. It is never the working directory: many programs run files they find there, and those
/// may come from someone else.
fn start_directory(cwd: Option<&Path>, environment: &Environment) -> PathBuf {
    let home =
        environment.home().filter(|home| home.is_dir()).unwrap_or_else(|| PathBuf::from("/"));
    match cwd {
        Some(cwd) => cwd.strip_prefix("~").map_or_else(|_| cwd.to_owned(), |rest| home.join(rest)),
        None => home,
    }
}

/// Adds the tools of a server. If it cannot be reached, that becomes a notice, not an error.
pub(super) async fn connect(server: &Server, agent: &mut AgentConfig, notices: &mut Vec<Notice>) {
    match mcp::connect(server).await {
        Ok(connected) => {
            for name in connected.missing {
                let kind = ServerProblemKind::NoTool(name);
                notices.push(Notice::Server(ServerProblem::new(&server.name, kind)));
            }
            notices.extend(connected.refused.into_iter().map(Notice::Server));
            for tool in connected.tools {
                notices.extend(agent.toolbox.add(tool).err().map(Notice::from));
            }
        }
        Err(problem) => notices.push(Notice::Server(problem)),
    }
}
