//! Runs one command: sets its environment, collects its output up to a limit, enforces its timeout,
//! and kills everything it started.

use std::io::Read;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

use crate::launch_spec::{LAUNCH_ARGUMENT, LaunchSpec, Report};
use crate::limits::{ExceededLimit, ResourceLimits};
use crate::refusal::{self, Refusal};
use crate::rules::{Network, Rules};
use crate::toolchains::Toolchains;

/// How much of an output is kept at its start and at its end.
const HEAD_BYTES: usize = 512 * 1024;
const TAIL_BYTES: usize = 512 * 1024;

/// How long to wait for the last output after a command has ended. A process that escaped could
/// hold the pipe open forever.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for the report of a supervisor, which kills the command and checks protected
/// paths first.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(60);

/// The largest report that is read.
const MAX_REPORT_BYTES: u64 = 1_000_000;

/// The exit status of a command that was not started.
const NOT_STARTED: i32 = 126;

/// The default timeout of commands.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs commands with the same settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shell {
    /// A program that calls [`launcher`](crate::launcher) first thing in its `main`: the host
    /// program itself, or a helper. Without one, commands run unconfined.
    pub launcher: Option<PathBuf>,
    /// Whether Landlock must restrict the files of commands. If this is set and the kernel does not
    /// support it, commands are not run.
    pub confined: bool,
    /// The environment of commands; they see no other variables.
    pub environment: Vec<(String, String)>,
    /// Directories that commands may read, in addition to the system's own. Their paths must not
    /// contain symbolic links.
    pub read: Vec<PathBuf>,
    /// What commands may reach over the network.
    pub network: Network,
    /// Limits on the resources of a command.
    pub limits: ResourceLimits,
    /// The user's toolchains, which commands may run.
    pub toolchains: Toolchains,
    /// Names of [protected paths](crate::protected) that every command may change.
    pub unprotected: Vec<String>,
    /// The timeout of a command, unless the caller passes another.
    pub timeout: Duration,
}

impl Default for Shell {
    fn default() -> Self {
        Self::new()
    }
}

impl Shell {
    /// Returns a shell whose launcher is the running program, with Landlock required, an empty
    /// environment, no network, and a timeout of two minutes. Outside Linux it has no launcher and
    /// requires nothing.
    #[must_use]
    pub fn new() -> Self {
        let is_linux = cfg!(target_os = "linux");
        Self {
            // Not the executable's path: a command may have put another program there.
            launcher: is_linux.then(|| PathBuf::from("/proc/self/exe")),
            confined: is_linux,
            environment: Vec::new(),
            read: Vec::new(),
            network: Network::Off,
            limits: ResourceLimits::default(),
            toolchains: Toolchains::default(),
            unprotected: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Returns a shell that does not confine commands, for tests and for hosts that are confined as
    /// a whole.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { launcher: None, confined: false, ..Self::new() }
    }

    /// Runs a command in a directory and returns its output. Dropping the future kills the command.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub async fn run(
        &self,
        rules: &Rules,
        directory: &Path,
        text: &str,
        timeout: Option<Duration>,
    ) -> std::io::Result<CommandOutput> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = self.command(rules, text)?;
        command
            .current_dir(directory)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdout(writer.try_clone()?).stderr(writer);
        // The supervisor reads the end of the host from it, and writes its report to it.
        let (line, other_end) = UnixStream::pair()?;
        command.stdin(match self.launcher {
            Some(_) => Stdio::from(OwnedFd::from(other_end)),
            None => Stdio::null(),
        });
        let child = command.spawn()?;
        // `command` holds the write ends of the pipe; the output does not end while they are open.
        drop(command);
        let mut running = Running::new(child, self.launcher.is_some().then_some(line));
        let buffer = Arc::new(Mutex::new(OutputBuffer::default()));
        let collector =
            tokio::spawn(collect(Receiver::from_owned_fd(reader.into())?, Arc::clone(&buffer)));
        let status = running.wait(timeout.unwrap_or(self.timeout)).await?;
        let report = tokio::task::spawn_blocking(move || running.end()).await?;
        let abort = collector.abort_handle();
        drop(tokio::time::timeout(LAST_OUTPUT_TIMEOUT, collector).await);
        abort.abort();
        let buffer =
            std::mem::take(&mut *buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let (output, dropped) = buffer.text();
        let ended = status.is_none_or(|status| status.code() != Some(NOT_STARTED));
        let report = report.unwrap_or_else(|| Report {
            // Its supervisor was killed before it could check them.
            unchecked: if ended { rules.guarded.clone() } else { Vec::new() },
            ..Report::default()
        });
        let Report { exceeded, blocked, unchecked } = report;
        let succeeded = status.is_some_and(|status| status.success());
        let mut refused: Vec<Refusal> = blocked.into_iter().map(Refusal::PutBack).collect();
        refused.extend(unchecked.into_iter().map(|path| Refusal::Unchecked { path }));
        if self.confined && !succeeded {
            refused.extend(refusal::find(&output, rules));
        }
        Ok(CommandOutput { output, status, dropped, exceeded, refused })
    }

    /// Builds the shell command: through the launcher if there is one, else in its own process
    /// group.
    fn command(&self, rules: &Rules, text: &str) -> std::io::Result<Command> {
        let program = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        let mut command = match &self.launcher {
            Some(launcher) => {
                let spec = LaunchSpec {
                    rules: rules.clone(),
                    confined: self.confined,
                    supervised: false,
                    proxy: None,
                };
                let mut command = Command::new(launcher);
                command
                    .arg(LAUNCH_ARGUMENT)
                    .arg(serde_json::to_string(&spec)?)
                    .arg("--")
                    .arg(program);
                command
            }
            None => {
                let mut command = Command::new(program);
                command.process_group(0);
                command
            }
        };
        command.arg("-c").arg(text);
        Ok(command)
    }
}

/// The result of a command.
#[derive(Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    /// Standard output and standard error, in the order they were written.
    pub output: String,
    /// The exit status; `None` if the command timed out.
    pub status: Option<ExitStatus>,
    /// Number of bytes dropped from the middle of the output.
    pub dropped: usize,
    /// The limit for which the command was killed.
    pub exceeded: Option<ExceededLimit>,
    /// Protected paths that were put back or could not be checked and, if the command failed, what the sandbox may have
    /// refused.
    pub refused: Vec<Refusal>,
}

/// Kills a command and everything it started when dropped, also when the caller stops waiting.
struct Running {
    /// The supervisor, or the shell itself.
    child: Option<Child>,
    first: Option<Pid>,
    /// The line to the supervisor. Closing it makes the supervisor kill the command.
    line: Option<UnixStream>,
}

impl Running {
    fn new(child: Child, line: Option<UnixStream>) -> Self {
        let first = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { child: Some(child), first, line }
    }

    /// Waits for the end of the command; `None` if it takes too long.
    async fn wait(&mut self, timeout: Duration) -> std::io::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        match tokio::time::timeout(timeout, child.wait()).await {
            Ok(status) => status.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Kills what is left of the command, and returns the report of its supervisor, if it sent one.
    fn end(&mut self) -> Option<Report> {
        let mut child = self.child.take()?;
        let mut report = self.line.is_none().then(Report::default);
        let has_supervisor = self.line.is_some();
        if let Some(mut line) = self.line.take() {
            // The supervisor now ends the command, if it still runs, and itself.
            drop(line.shutdown(Shutdown::Write));
            drop(line.set_read_timeout(Some(SUPERVISOR_TIMEOUT)));
            let mut text = Vec::new();
            drop((&mut line).take(MAX_REPORT_BYTES).read_to_end(&mut text));
            report = serde_json::from_slice(&text).ok();
        }
        // A supervisor that has ended left no process.
        let is_left = !has_supervisor || !has_ended(&mut child);
        if let Some(first) = self.first.filter(|_| is_left) {
            let _ = rustix::process::kill_process_group(first, Signal::KILL);
            #[cfg(target_os = "linux")]
            crate::process_group::kill_session(first);
        }
        report
    }
}

/// Waits a moment for a process that is about to end.
fn has_ended(child: &mut Child) -> bool {
    for _ in 0..100 {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.is_some() {
            let mut running =
                Self { child: self.child.take(), first: self.first, line: self.line.take() };
            // Dropping must not block.
            std::thread::spawn(move || running.end());
        }
    }
}

/// Keeps the start and the end of an output of any length.
#[derive(Default)]
struct OutputBuffer {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    dropped: usize,
}

impl OutputBuffer {
    fn push(&mut self, bytes: &[u8]) {
        let room = HEAD_BYTES - self.head.len().min(HEAD_BYTES);
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        self.dropped += excess;
    }

    fn text(self) -> (String, usize) {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.dropped > 0 {
            text.push_str(&format!("\n\n[... {} bytes omitted ...]\n\n", self.dropped));
        }
        let tail: Vec<u8> = self.tail.into();
        text.push_str(&String::from_utf8_lossy(&tail));
        (text, self.dropped)
    }
}

async fn collect(mut pipe: Receiver, buffer: Arc<Mutex<OutputBuffer>>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut bytes).await {
        let read = bytes.get(..count).unwrap_or_default();
        buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(read);
    }
}
