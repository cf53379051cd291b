//! [`LaunchSpec`]: instructions for a re-executed program, passed on its command line.
//! [`Report`]: what its supervisor reports at the end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits::ExceededLimit;
use crate::protected::{Blocked, UserFiles};
use crate::rules::Rules;

/// The first argument of a re-executed program. The spec as JSON, `--` and the command follow.
pub(crate) const LAUNCH_ARGUMENT: &str = "sandbox-exec";

/// The arguments after [`LAUNCH_ARGUMENT`] of probe processes, which only test whether they can
/// enter namespaces, and whether they can make all mounts in them read-only.
pub(crate) const PROBE_NAMESPACES: &str = "probe-namespaces";
pub(crate) const PROBE_MOUNTS: &str = "probe-mounts";

/// Instructions for a re-executed program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LaunchSpec {
    pub(crate) rules: Rules,
    /// Whether Landlock must confine the command. The other protections apply in any case.
    pub(crate) confined: bool,
    /// Whether a supervisor is already running. If so, the process is the launcher: it confines
    /// itself and becomes the command.
    pub(crate) supervised: bool,
    /// The port of the proxy that the supervisor runs, if hosts are listed.
    #[serde(default)]
    pub(crate) proxy: Option<u16>,
    /// The user's own configuration, which may lead into a guarded directory.
    #[serde(default)]
    pub(crate) user: UserFiles,
}

/// The findings of a supervisor about its command. The supervisor writes them to its standard
/// input, a socket whose other end the host holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) exceeded: Option<ExceededLimit>,
    pub(crate) blocked: Vec<Blocked>,
    /// Paths below which protected paths could not be checked.
    #[serde(default)]
    pub(crate) unchecked: Vec<PathBuf>,
    /// The hosts that the proxy refused.
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
}
