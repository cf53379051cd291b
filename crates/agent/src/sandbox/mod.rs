//! Commands of a model, in a process that the kernel confines: files only where the user allows, no network unless allowed, no
//! way out of its session, no keys in its environment, an end after its time.
//!
//! A command is started through a launcher, which is this program once more: it confines itself and then becomes the shell.
//! So nothing of the program's own process is ever confined, and nothing unsafe is needed.

mod command;
#[cfg(target_os = "linux")]
mod linux;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use command::{Ended, run};

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

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The launcher: a program and its arguments, to which rules and command are added. None where commands run unconfined.
    pub launcher: Option<Vec<OsString>>,
    /// The environment of commands.
    pub environment: Vec<(String, String)>,
    /// Folders that commands may look into, beside the system's own.
    pub read: Vec<PathBuf>,
    /// Whether commands may use the network.
    pub network: bool,
    /// How long a command may take if it does not say.
    pub time: Duration,
}

impl Shell {
    /// Whether the kernel confines commands.
    #[must_use]
    pub const fn is_confined(&self) -> bool {
        self.launcher.is_some()
    }
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
        let tried = std::thread::spawn(|| linux::confine(&Rules::default())).join();
        match tried {
            Ok(Ok(())) => Support::Full,
            Ok(Err(why)) => Support::None(why),
            Err(_) => Support::None("the kernel could not be asked".to_owned()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Support::None("this system has no Landlock".to_owned())
}

/// Whoever started the program may have left files open in it: the shell closes them before it reads the command.
#[cfg(target_os = "linux")]
fn handed_on() -> String {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(|number| *number > 2);
    // The one that this list is read from is closed already; closing it again does no harm.
    numbers.map(|number| format!("exec {number}>&-;")).collect()
}

/// What the launcher does: confines its own process by `rules` and becomes the command. Comes back only with why it could not.
#[must_use]
pub fn enter(rules: &str, command: &[OsString]) -> String {
    let Ok(rules) = serde_json::from_str::<Rules>(rules) else { return "the rules cannot be read".to_owned() };
    let Some((program, arguments)) = command.split_first() else { return "no command is given".to_owned() };
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        // The first of a session of its own, which nobody in it can leave: so all of it can be ended.
        if let Err(error) = rustix::process::setsid() {
            return format!("it cannot have a session of its own: {error}");
        }
        // If the program itself is killed, the command does not go on alone.
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        let handed_on = handed_on();
        if let Err(why) = linux::confine(&rules) {
            return why;
        }
        let mut arguments = arguments.to_vec();
        if let Some(text) = arguments.last_mut() {
            let mut closing = OsString::from(handed_on);
            closing.push(&text);
            *text = closing;
        }
        std::process::Command::new(program).args(arguments).exec().to_string()
    }
    #[cfg(not(target_os = "linux"))]
    {
        drop((rules, program, arguments));
        "this system has no Landlock".to_owned()
    }
}
