//! What a command may do.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a command may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Directories it may change. Their paths must hold no symbolic links.
    pub write: Vec<PathBuf>,
    /// Directories it may read and run programs from, in addition to the system's own. Their paths
    /// must hold no symbolic links.
    pub read: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

impl Rules {
    /// Removes directories that lie inside a writable one: they are reached through that one, and a
    /// command could have replaced them by a link to anywhere.
    #[must_use]
    pub fn without_nested(mut self) -> Self {
        let roots = self.write.clone();
        self.write.retain(|path| !roots.iter().any(|root| path != root && path.starts_with(root)));
        self.read.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
        self
    }
}
