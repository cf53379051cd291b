//! [`LaunchSpec`]: instructions for a re-executed program, passed on its command line.

use serde::{Deserialize, Serialize};

use crate::rules::Rules;

/// The first argument of a re-executed program. The spec as JSON, `--` and the command follow.
pub(crate) const LAUNCH_ARGUMENT: &str = "sandbox-exec";

/// Instructions for a re-executed program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LaunchSpec {
    pub(crate) rules: Rules,
    /// Whether Landlock must confine the command. The other protections apply in any case.
    pub(crate) confined: bool,
    /// Whether a supervisor is already running. If so, the process is the launcher: it confines
    /// itself and becomes the command.
    pub(crate) supervised: bool,
}
