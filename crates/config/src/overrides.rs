//! What a caller sets above files and environment: the flags of a command, the fields of a request.

use std::path::PathBuf;

use waterline::message::Wire;
use waterline_agent::approval::Mode;
use waterline_sandbox::workspace::Grant;

use crate::environment::Environment;

/// What a caller sets above files and environment.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Which model answers, and where.
    pub model: ModelOverrides,
    /// The policy: a preset or a file.
    pub policy: Option<String>,
    /// Keys of the policy.
    pub sets: Vec<(String, String)>,
    /// The most tokens of an answer.
    pub max_tokens: Option<usize>,
    /// The directory of the day's memory files.
    pub memory: Option<PathBuf>,
    /// The role.
    pub role: Option<String>,
    /// Directories that files may be reached in, besides the workspace.
    pub allow_dirs: Vec<Grant>,
    /// When a person is asked before a call.
    pub approval: Option<Mode>,
    /// Lets commands use the network.
    pub allow_network: bool,
    /// Model calls in one turn.
    pub steps: Option<usize>,
}

/// Which model a caller asks for, and where it answers.
#[derive(Clone, Debug, Default)]
pub struct ModelOverrides {
    /// Its name.
    pub model: Option<String>,
    /// The address of its server.
    pub base_url: Option<String>,
    /// The wire it speaks.
    pub wire: Option<Wire>,
    /// The file that holds its key.
    pub key_file: Option<PathBuf>,
    /// Tokens a prompt may take.
    pub window: Option<usize>,
}

impl ModelOverrides {
    /// These overrides, with the process's `WATERLINE_MODEL` and `WATERLINE_BASE_URL` where nothing
    /// is set: they count as overrides do. A model that the `.env` file names does not, because the
    /// address of the user's config must remain in force for it.
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
