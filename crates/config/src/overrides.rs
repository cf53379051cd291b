//! [`Overrides`]: values that a caller sets over files and environment, such as the flags of a
//! command or the fields of a request.

use std::path::PathBuf;

use waterline::message::Wire;
use waterline_agent::approval::Mode;
use waterline_sandbox::workspace::Grant;

use crate::environment::Environment;

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
    /// Which calls need approval.
    pub approval: Option<Mode>,
    /// Lets commands use the network.
    pub allow_network: bool,
    /// Maximum number of model calls in one turn.
    pub steps: Option<usize>,
}

/// The model that a caller asks for, and its address.
#[derive(Clone, Debug, Default)]
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
}

impl ModelOverrides {
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
