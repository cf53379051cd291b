//! Commands of a model, in a process that the kernel confines: files only where the user allows, no network unless allowed, no
//! way out of its session, no keys in its environment, an end after its time.
//!
//! A command is started through a launcher, which is this program twice more: a keeper, which ends whatever is left when the
//! command ends or this program does, and beside it a process that confines itself and then becomes the shell. So nothing of the
//! program's own process is ever confined, and nothing unsafe is needed. Without Linux there is no launcher.

mod command;
#[cfg(target_os = "linux")]
mod family;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod linux;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use command::{Ended, run};
#[cfg(target_os = "linux")]
pub use launch::{enter, hide};

/// What a command may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Folders it may change.
    pub write: Vec<PathBuf>,
    /// Folders it may look into and run programs from, beside the system's own.
    pub read: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

impl Rules {
    /// Leaves out what lies in a folder that may be changed: it is reached through that, and a command could have put a link to
    /// anywhere in its place.
    #[must_use]
    pub fn without_nested(mut self) -> Self {
        let roots = self.write.clone();
        self.write.retain(|path| !roots.iter().any(|root| path != root && path.starts_with(root)));
        self.read.retain(|path| !roots.iter().any(|root| path.starts_with(root)));
        self
    }
}

/// What the launcher is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Order {
    rules: Rules,
    /// Whether the kernel keeps the command from files; where it cannot, the rest still holds.
    confined: bool,
    /// Whether a keeper is there already.
    kept: bool,
}

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The launcher: a program and its arguments, to which rules and command are added.
    pub launcher: Option<Vec<OsString>>,
    /// Whether the kernel keeps commands from files.
    pub confined: bool,
    /// The environment of commands.
    pub environment: Vec<(String, String)>,
    /// Folders that commands may look into, beside the system's own; without links in their paths.
    pub read: Vec<PathBuf>,
    /// Whether commands may use the network.
    pub network: bool,
    /// How long a command may take if it does not say.
    pub time: Duration,
}

/// How well the kernel can confine a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// Files and network.
    Full,
    /// Not at all, and why.
    None(String),
}

/// Asks the kernel. A thread confines itself to find out, and ends.
#[must_use]
pub fn support() -> Support {
    #[cfg(target_os = "linux")]
    {
        let tried = std::thread::spawn(|| linux::confine(&Rules::default(), true)).join();
        match tried {
            Ok(Ok(())) => Support::Full,
            Ok(Err(why)) => Support::None(why),
            Err(_) => Support::None("the kernel could not be asked".to_owned()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Support::None("this system has no Landlock".to_owned())
}
