//! [`Overrides`]: values that a caller sets over files and environment, such as the flags of a
//! command or the fields of a request.

use std::path::PathBuf;

use waterline::message::Wire;
use waterline_agent::WorkingDirectory;
use waterline_agent::approval::Mode;
use waterline_sandbox::Network;
use waterline_sandbox::workspace::Grant;

use crate::agent::{AgentSettings, NetworkSettings};
use crate::environment::Environment;
use crate::workspace_choice::WorkspaceChoice;

/// Values that take precedence over files and environment.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The model and its address.
    pub model: ModelOverrides,
    /// The policy: the name of a preset, or a file.
    pub policy: Option<String>,
    /// Keys of the policy and their values.
    pub sets: Vec<(String, String)>,
    /// Maximum number of tokens in an answer.
    pub max_tokens: Option<usize>,
    /// The directory of the daily memory files.
    pub memory: Option<PathBuf>,
    /// The user whose sessions and preferences are used.
    pub user: Option<String>,
    /// The agent's role.
    pub role: Option<String>,
    /// Directories whose files the agent may access in addition to the workspace.
    pub allow_dirs: Vec<Grant>,
    /// Where the agent is to work.
    pub workspace: Option<WorkspaceChoice>,
    /// The directory that the agent works in, as [`place::find`](crate::place::find) returned it
    /// and the user agreed; `None` for a private workspace.
    pub directory: Option<WorkingDirectory>,
    /// Which calls need approval.
    pub approval: Option<Mode>,
    /// Lets commands use the network.
    pub allow_network: bool,
    /// Hosts that commands may reach, in addition to those of the settings.
    pub allow_hosts: Vec<String>,
    /// Maximum number of model calls in one turn.
    pub steps: Option<usize>,
}

impl Overrides {
    /// Returns what commands may reach over the network, with the hosts of the settings.
    #[must_use]
    pub fn network(&self, settings: &AgentSettings) -> Network {
        let own = settings.network.as_ref().map(NetworkSettings::network).unwrap_or_default();
        let mut hosts = match own {
            _ if self.allow_network => return Network::Any,
            Network::Any => return Network::Any,
            Network::Hosts(hosts) => hosts,
            Network::Off => Vec::new(),
        };
        hosts.extend(self.allow_hosts.clone());
        if hosts.is_empty() { Network::Off } else { Network::Hosts(hosts) }
    }
}

/// The model that a caller asks for, and its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOverrides {
    /// The model's name.
    pub model: Option<String>,
    /// The base URL of its server.
    pub base_url: Option<String>,
    /// The wire format that the server uses.
    pub wire: Option<Wire>,
    /// The file that holds the API key.
    pub key_file: Option<PathBuf>,
    /// Maximum number of tokens in a prompt.
    pub window: Option<usize>,
    /// Whether the model and the address are those that the session used before.
    pub is_remembered: bool,
}

impl ModelOverrides {
    /// Returns the overrides without what a session used before.
    #[must_use]
    pub(crate) fn without_remembered(&self) -> Self {
        match self.is_remembered {
            true => {
                Self { key_file: self.key_file.clone(), window: self.window, ..Self::default() }
            }
            false => self.clone(),
        }
    }

    /// Fills unset values from the process's `WATERLINE_MODEL` and `WATERLINE_BASE_URL`. A model
    /// from the `.env` file is not an override: the address in the user's config stays in force for
    /// it.
    #[must_use]
    pub fn or_variables(&self, environment: &Environment) -> Self {
        Self {
            model: self.model.clone().or_else(|| environment.of_process("WATERLINE_MODEL")),
            base_url: self
                .base_url
                .clone()
                .or_else(|| environment.of_process("WATERLINE_BASE_URL")),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_settings_and_overrides_are_joined() {
        let network = |setting: Option<NetworkSettings>, hosts: &[&str], all: bool| {
            let overrides = Overrides {
                allow_hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
                allow_network: all,
                ..Overrides::default()
            };
            overrides.network(&AgentSettings { network: setting, ..AgentSettings::default() })
        };
        let listed = || Some(NetworkSettings::Hosts(vec!["crates.io".to_owned()]));
        let hosts =
            |list: &[&str]| Network::Hosts(list.iter().map(|&host| host.to_owned()).collect());
        assert_eq!(network(None, &[], false), Network::Off);
        assert_eq!(network(Some(NetworkSettings::All(true)), &[], false), Network::Any);
        assert_eq!(network(listed(), &[], false), hosts(&["crates.io"]));
        assert_eq!(network(listed(), &["a.org"], false), hosts(&["crates.io", "a.org"]));
        assert_eq!(
            network(Some(NetworkSettings::All(false)), &["a.org"], false),
            hosts(&["a.org"])
        );
        assert_eq!(network(listed(), &[], true), Network::Any);
    }
}
