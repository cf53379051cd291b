//! Runs shell commands confined by the Linux kernel, and opens files only inside granted
//! directories.
//!
//! The crate has two independent parts: [`Shell`] runs commands; [`workspace`] and [`small_file`]
//! read and write files through directory handles. It knows nothing about models or agents.
//!
//! # What the host program must do
//!
//! A process can confine only itself, not another process. [`Shell`] therefore starts a command by
//! re-executing the host program twice: as a *supervisor*, which kills every remaining process when
//! the command ends or the host dies, and as a *launcher*, which confines itself and then becomes
//! the shell. The host program must call [`launcher`] **first thing in `main`**, before it parses
//! arguments, starts threads or an async runtime, opens files or prints:
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
//! [`launcher`] looks only at the first argument. It returns `None` when the program was started
//! normally, and the command's exit code when the program was re-executed to run one. Without this
//! call, the re-executed host would run its own `main` instead of the command.
//!
//! A library that cannot change `main`, such as a Python module, ships a small helper binary with
//! this `main` and sets [`Shell::launcher`] to its path.
//!
//! The host can then run commands (see also `examples/confined_command.rs`):
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
//! let result = shell.run(&rules, directory, "ls -l", None).await?;
//! println!("{}", result.output);
//! # Ok(())
//! # }
//! ```
//!
//! If the host's memory or environment holds secrets, it should also call [`hide`] once at startup.
//!
//! # What is confined
//!
//! - **Files** (Landlock): a command can read, write and execute below [`Rules::write`]; read and
//!   execute below [`Rules::read`] and in the system's program directories; and read a fixed list
//!   of files in `/etc` and `/proc`. Nothing else is accessible.
//! - **Mode, owner and times of files** (read-only mounts): outside [`Rules::write`] they cannot be
//!   changed, where the kernel allows mount namespaces ([`Shell::has_mount_namespace`]).
//! - **Protected paths** (read-only mounts): in [`Rules::guarded`] directories, files that other
//!   programs run automatically stay as they are. See [`protected`].
//! - **Network** (seccomp, Landlock and a network namespace): no sockets, or only a proxy to listed
//!   hosts, or all internet sockets, as [`Rules::network`] says. Unix sockets of other programs on
//!   this machine stay unreachable in any case.
//! - **Privileges**: no capabilities, no set-id bits, no extended attributes, no real-time
//!   scheduling, even if the host is root.
//! - **Processes**: no signals to processes outside, no `ptrace`, no namespaces, no `setsid`. All
//!   processes of a command share one POSIX session. It is killed when the command ends or times
//!   out, when the future is dropped, and when the host dies.
//! - **Resources**: [`ResourceLimits`] on processes, memory, open files, file sizes and disk space.
//! - **Environment and file descriptors**: the command sees only the variables in
//!   [`Shell::environment`], and those of the proxy. Descriptors that the host inherited are
//!   closed.
//! - **Output and time**: the middle of a long output is dropped, and a command is killed when its
//!   timeout expires.
//!
//! # What is not confined
//!
//! - CPU time, within the timeout.
//! - Without mount namespaces, the mode, times and owner of the user's files: Landlock has no rule
//!   for them.
//! - What other programs do later because of files that are not protected, such as a `Makefile`.
//!
//! # Without Landlock
//!
//! [`support`] reports whether the kernel has Landlock. ABI 1 and 2 count as missing, because they
//! cannot prevent truncation. If Landlock is missing, set [`Shell::confined`] to `false`: seccomp,
//! process supervision and the clean environment still apply, but a command can access every file
//! that the user can, so the host should ask for approval before each command. If `confined` is set
//! and Landlock is missing, the launcher refuses to run the command.
//!
//! Outside Linux there is no launcher: [`Shell::new`] leaves [`Shell::launcher`] empty, and a
//! command runs unconfined in its own process group.

mod error;
#[cfg(target_os = "linux")]
mod launch;
mod launch_spec;
mod limits;
#[cfg(target_os = "linux")]
mod linux;
pub mod network;
mod open;
#[cfg(target_os = "linux")]
mod process_group;
pub mod protected;
mod reason;
mod refusal;
mod rules;
mod shell;
pub mod small_file;
mod support;
mod toolchains;
mod user_git;
pub mod workspace;

pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use launch::{hide, launcher};
pub use limits::{ExceededLimit, ResourceLimits};
pub use open::open_in;
pub use reason::{PathReason, Unsupported};
pub use refusal::Refusal;
pub use rules::{Network, Rules};
pub use shell::{CommandOutput, OnOutput, OutputGap, Shell};
pub use support::{Support, support};
pub use toolchains::Toolchains;
pub use user_git::UserGit;
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
