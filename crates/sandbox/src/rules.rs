//! [`Rules`]: the permissions of a command.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The permissions of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Directories it may change. Their paths must not contain symbolic links.
    pub write: Vec<PathBuf>,
    /// Directories it may read and execute programs from, in addition to the system's own. Their
    /// paths must not contain symbolic links.
    pub read: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

impl Rules {
    /// Removes directories that are inside a writable one. The outer rule covers them, and a
    /// command could have replaced them with a link to anywhere.
    #[must_use]
    pub fn without_nested(mut self) -> Self {
        let roots = self.write.clone();
        self.write.retain(|path| !roots.iter().any(|root| path != root && path.starts_with(root)));
        self.read.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
        self
    }
}
