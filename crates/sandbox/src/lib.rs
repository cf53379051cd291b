//! Shell commands that the Linux kernel confines, and files that are reached only inside granted
//! directories.
//!
//! The crate has two parts that do not need each other: [`Shell`] runs commands, [`workspace`] and
//! [`small_file`] read and write files through directory handles. It knows no sessions, no models
//! and no agents.
//!
//! # What the host program must do
//!
//! A process cannot confine another one, only itself. A command is therefore started by
//! re-executing the host program twice: a *supervisor*, which kills whatever is left when the
//! command ends or the host dies, and a *launcher*, which confines itself and then becomes the
//! shell. So the host program must hand over to this crate **first thing in `main`**, before it
//! parses arguments, starts threads or an async runtime, opens files or prints:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     if let Some(code) = waterline_sandbox::launcher() {
//!         return code;
//!     }
//!     // ... the program itself
//!     std::process::ExitCode::SUCCESS
//! }
//! ```
//!
//! [`launcher`] looks at the first argument only. It returns `None` in an ordinary start, and the
//! exit code of the command where the program was re-executed. A library that cannot change `main`
//! (a Python module, for example) ships a small helper binary with that `main` and sets
//! [`Shell::launcher`] to its path.
//!
//! Then a command is run like this (see also `examples/confined_command.rs`):
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use std::path::Path;
//! use waterline_sandbox::{Rules, Shell, Support, support};
//!
//! let mut shell = Shell::new();
//! shell.confined = support() == Support::Full;
//! shell.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
//! let directory = Path::new("/srv/work");
//! let rules = Rules { write: vec![directory.to_owned()], ..Rules::default() };
//! let ended = shell.run(&rules, directory, "ls -l", None).await?;
//! println!("{}", ended.output);
//! # Ok(())
//! # }
//! ```
//!
//! The host should also call [`hide`] once at start if its memory or environment holds secrets.
//!
//! # What is confined
//!
//! - **Files** (Landlock): a command reads, writes and executes only below [`Rules::write`], reads
//!   and executes below [`Rules::read`] and the system's program directories, and sees a fixed list
//!   of files of `/etc` and `/proc`.
//! - **Network** (seccomp and Landlock): no socket can be made unless [`Rules::network`] is set;
//!   sockets of other programs on this machine stay closed even then.
//! - **Processes**: no signals to processes outside, no `ptrace`, no namespaces, no `setsid`. All
//!   processes of a command share one POSIX session, which is killed when the command ends, times
//!   out, is dropped, or the host dies.
//! - **Environment and file descriptors**: only the variables in [`Shell::environment`];
//!   descriptors that the host inherited are closed.
//! - **Output and time**: the middle of a long output is dropped; a command is killed after its
//!   timeout.
//!
//! # What is not confined
//!
//! CPU time, memory and disk space within the timeout; mode, times and owner of files that belong
//! to the user (Landlock has no rule for them); anything a user's own files in the granted
//! directories make other programs do later (a `Makefile`, a git hook).
//!
//! # Without Landlock
//!
//! [`support`] asks the kernel. Landlock below ABI 3 counts as none, because it cannot prevent
//! truncation. Where it is missing, set [`Shell::confined`] to `false`: seccomp, process
//! supervision and the clean environment still hold, but the command reaches every file that the
//! user reaches, so the host should ask a person before each command. With `confined` set and no
//! Landlock, the launcher refuses to start the command. Outside Linux there is no launcher:
//! [`Shell::new`] leaves [`Shell::launcher`] empty, and a command runs in a process group of its
//! own, unconfined.

mod error;
#[cfg(target_os = "linux")]
mod launch;
mod launch_spec;
#[cfg(target_os = "linux")]
mod linux;
mod open;
#[cfg(target_os = "linux")]
mod process_group;
mod rules;
mod shell;
pub mod small_file;
mod support;
pub mod workspace;

pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use launch::{hide, launcher};
pub use open::open_in;
pub use rules::Rules;
pub use shell::{CommandOutput, Shell};
pub use support::{Support, support};
pub use workspace::{Grant, Workspace};

/// Returns `None`: outside Linux the program is never re-executed.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn launcher() -> Option<std::process::ExitCode> {
    None
}

/// Does nothing: outside Linux there is no such protection.
#[cfg(not(target_os = "linux"))]
pub fn hide() {}
