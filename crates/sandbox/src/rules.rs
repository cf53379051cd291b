//! [`Rules`]: the permissions of a command.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits::ResourceLimits;

/// The permissions of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Directories it may change. Their paths must not contain symbolic links.
    pub write: Vec<PathBuf>,
    /// Directories it may read and execute programs from, in addition to the system's own. Their
    /// paths must not contain symbolic links.
    pub read: Vec<PathBuf>,
    /// Directories inside those of [`write`](Self::write) that it may only read. A command is not
    /// run if the kernel cannot make them read-only.
    #[serde(default)]
    pub read_only: Vec<PathBuf>,
    /// Directories of [`write`](Self::write) whose [protected paths](crate::protected) stay
    /// read-only.
    pub guarded: Vec<PathBuf>,
    /// Directories inside guarded ones that are not guarded, such as a workspace.
    pub unguarded: Vec<PathBuf>,
    /// Names of protected paths that it may change anyway, as in [`crate::protected::NAMES`].
    pub unprotected: Vec<String>,
    /// What it may reach over the network.
    pub network: Network,
    /// Limits on its resources.
    pub limits: ResourceLimits,
}

/// What a command may reach over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Nothing.
    #[default]
    Off,
    /// These hosts, through an HTTP proxy: `crates.io`, `*.pypi.org`, `localhost:8080`.
    Hosts(Vec<String>),
    /// Everything, including this machine and its private network.
    Any,
}

impl Rules {
    /// Removes directories that are inside a writable one. The outer rule covers them, and a
    /// command could have replaced them with a link to anywhere. Of [`read_only`](Self::read_only),
    /// those that are inside no writable directory move to [`read`](Self::read).
    #[must_use]
    pub fn without_nested(mut self) -> Self {
        let roots = self.write.clone();
        self.write.retain(|path| !roots.iter().any(|root| path != root && path.starts_with(root)));
        self.read.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
        let is_writable = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
        let read_only =
            std::mem::take(&mut self.read_only).into_iter().filter(|path| !roots.contains(path));
        let (nested, outside): (Vec<PathBuf>, Vec<PathBuf>) = read_only.partition(is_writable);
        self.read.extend(outside);
        self.read_only = nested;
        let guarded = self.guarded.clone();
        self.guarded
            .retain(|path| !guarded.iter().any(|root| path != root && path.starts_with(root)));
        self
    }
}
