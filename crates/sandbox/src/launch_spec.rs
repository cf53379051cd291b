//! What a re-executed program is to do, as it travels on its command line.

use serde::{Deserialize, Serialize};

use crate::rules::Rules;

/// The first argument of a re-executed program. The spec as JSON, `--` and the command follow.
pub(crate) const LAUNCH_ARGUMENT: &str = "sandbox-exec";

/// What a re-executed program is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LaunchSpec {
    pub(crate) rules: Rules,
    /// Whether Landlock must confine the command; without it the rest still holds.
    pub(crate) confined: bool,
    /// Whether a supervisor runs already: then the process confines itself and becomes the command.
    pub(crate) supervised: bool,
}
