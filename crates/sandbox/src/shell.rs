//! Runs one command: sets its environment, collects its output up to a limit, enforces its timeout,
//! and kills everything it started.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};

use crate::launch_spec::{LAUNCH_ARGUMENT, LaunchSpec};
use crate::rules::Rules;

/// How much of an output is kept at its start and at its end.
const HEAD_BYTES: usize = 512 * 1024;
const TAIL_BYTES: usize = 512 * 1024;

/// How long to wait for the last output after a command has ended. A process that escaped could
/// hold the pipe open forever.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// Whether commands may use the network.
    pub network: bool,
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
            network: false,
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
        command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // `command` holds the write ends of the pipe; the output does not end while they are open.
        drop(command);
        let mut running = Running::new(&mut child);
        if self.launcher.is_none() {
            running.stdin = None;
        }
        let buffer = Arc::new(Mutex::new(OutputBuffer::default()));
        let collector =
            tokio::spawn(collect(Receiver::from_owned_fd(reader.into())?, Arc::clone(&buffer)));
        let status = match tokio::time::timeout(timeout.unwrap_or(self.timeout), child.wait()).await
        {
            Ok(status) => Some(status?),
            Err(_) => None,
        };
        // Background processes are killed with the command, which also ends the output. A
        // supervisor has already done that.
        match status.and_then(|status| status.code()) {
            Some(_) if self.launcher.is_some() => running.forget(),
            _ => tokio::task::spawn_blocking(move || running.kill()).await?,
        }
        let abort = collector.abort_handle();
        drop(tokio::time::timeout(LAST_OUTPUT_TIMEOUT, collector).await);
        abort.abort();
        let buffer =
            std::mem::take(&mut *buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let (output, dropped) = buffer.text();
        Ok(CommandOutput { output, status, dropped })
    }

    /// Builds the shell command: through the launcher if there is one, else in its own process
    /// group.
    fn command(&self, rules: &Rules, text: &str) -> std::io::Result<Command> {
        let program = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        let mut command = match &self.launcher {
            Some(launcher) => {
                let spec =
                    LaunchSpec { rules: rules.clone(), confined: self.confined, supervised: false };
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
}

/// Kills a command and everything it started when dropped, also when the caller stops waiting.
struct Running {
    /// The supervisor, or the shell itself.
    first: Option<Pid>,
    /// Closing it makes the supervisor kill the command.
    stdin: Option<ChildStdin>,
}

impl Running {
    fn new(child: &mut Child) -> Self {
        let first = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { first, stdin: child.stdin.take() }
    }

    /// Disarms the drop, because the command and everything it started have ended.
    fn forget(mut self) {
        self.first = None;
    }

    fn kill(&mut self) {
        self.stdin = None;
        let Some(first) = self.first.take() else { return };
        // The processes may already have ended.
        let _ = rustix::process::kill_process_group(first, Signal::KILL);
        #[cfg(target_os = "linux")]
        crate::process_group::kill_session(first);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.first.is_some() {
            let mut running = Self { first: self.first.take(), stdin: self.stdin.take() };
            // Dropping must not block.
            std::thread::spawn(move || running.kill());
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
            text.push_str(&format!("\n[... {} bytes omitted ...]\n", self.dropped));
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
