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

use crate::launch_spec::{LAUNCH_ARGUMENT, LaunchSpec, PROBE_MOUNTS, Report};
use crate::limits::{ExceededLimit, ResourceLimits};
use crate::protected::{UserFiles, Watch};
use crate::refusal::{self, Refusal};
use crate::rules::{Network, Rules};
use crate::toolchains::Toolchains;
use crate::user_git::UserGit;

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
    /// The user's git, which knows who makes commits. It runs outside the sandbox.
    pub git: Option<UserGit>,
    /// Names of [protected paths](crate::protected) that every command may change.
    pub unprotected: Vec<String>,
    /// The directory to which versions of protected paths that a command made are moved. Without
    /// one they stay where they are, under another name.
    pub blocked: Option<PathBuf>,
    /// The timeout of a command, unless the caller passes another.
    pub timeout: Duration,
    /// Receives the output of a command while it runs.
    pub on_output: Option<OnOutput>,
}

/// A function that receives each piece of a command's output as it arrives. It must not block.
#[derive(Clone)]
pub struct OnOutput(Arc<OutputFunction>);

type OutputFunction = dyn Fn(&[u8]) + Send + Sync;

impl OnOutput {
    /// Wraps a function.
    pub fn new(receive: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }
}

impl std::fmt::Debug for OnOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnOutput")
    }
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
            git: None,
            unprotected: Vec::new(),
            blocked: None,
            timeout: DEFAULT_TIMEOUT,
            on_output: None,
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
        let watch = self.watch(rules).await?;
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
        let mut running = Running::new(child, self.launcher.is_some().then_some(line), watch);
        let buffer = Arc::new(Mutex::new(OutputBuffer::default()));
        let pipe = Receiver::from_owned_fd(reader.into())?;
        let collector = tokio::spawn(collect(pipe, Arc::clone(&buffer), self.on_output.clone()));
        let status = running.wait(timeout.unwrap_or(self.timeout)).await?;
        let guarded = rules.guarded.clone();
        let aside = self.blocked.clone();
        let end = move || end(running, &guarded, aside.as_deref());
        let report = tokio::task::spawn_blocking(end).await?;
        let abort = collector.abort_handle();
        drop(tokio::time::timeout(LAST_OUTPUT_TIMEOUT, collector).await);
        abort.abort();
        let buffer =
            std::mem::take(&mut *buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let (output, gap) = buffer.text();
        let ended = status.is_none_or(|status| status.code() != Some(NOT_STARTED));
        let report = report.unwrap_or_else(|| Report {
            // Its supervisor was killed before it could check them.
            unchecked: if ended { rules.guarded.clone() } else { Vec::new() },
            ..Report::default()
        });
        let Report { exceeded, blocked, unchecked, hosts } = report;
        let succeeded = status.is_some_and(|status| status.success());
        let mut refused: Vec<Refusal> = blocked.into_iter().map(Refusal::PutBack).collect();
        refused.extend(unchecked.into_iter().map(|path| Refusal::Unchecked { path }));
        refused.extend(hosts.into_iter().map(|host| Refusal::Host { host }));
        if self.confined {
            let found = refusal::find(&output, rules, directory, succeeded);
            let is_new = |found: &Refusal| !refused.contains(found);
            let new: Vec<Refusal> = found.into_iter().filter(is_new).collect();
            refused.extend(new);
            if refused.is_empty() {
                let code = status.and_then(|status| status.code());
                refused.extend(refusal::of_status(text, code, rules));
            }
            refusal::remove_vague(&mut refused);
        }
        Ok(CommandOutput { output, gap, status, exceeded, refused })
    }

    /// Returns whether the kernel allows commands a mount namespace and makes the mounts in it
    /// read-only. If it does not, they can change the mode, owner and times of files outside their
    /// directories. Starts the launcher to find out.
    #[must_use]
    pub fn has_mount_namespace(&self) -> bool {
        self.launcher.as_ref().is_some_and(|launcher| {
            let mut probe = std::process::Command::new(launcher);
            probe.args([LAUNCH_ARGUMENT, PROBE_MOUNTS]).env_clear();
            probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        })
    }

    #[cfg(not(target_os = "linux"))]
    async fn watch(&self, _: &Rules) -> std::io::Result<Option<Watch>> {
        Ok(None)
    }

    /// Begins to watch the guarded directories of a command.
    #[cfg(target_os = "linux")]
    async fn watch(&self, rules: &Rules) -> std::io::Result<Option<Watch>> {
        if self.launcher.is_none() || rules.guarded.is_empty() {
            return Ok(None);
        }
        let (rules, user) = (rules.clone(), self.user_files());
        let watch = tokio::task::spawn_blocking(move || Watch::start(&rules, &user)).await?;
        Ok(Some(watch))
    }

    /// Returns where the configuration of the user is.
    fn user_files(&self) -> UserFiles {
        self.git.as_ref().map_or_else(UserFiles::of_process, UserGit::files)
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
                    user: self.user_files(),
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
    /// Standard output and standard error, in the order they were written. The middle of a long
    /// output is missing.
    pub output: String,
    /// What is missing.
    pub gap: Option<OutputGap>,
    /// The exit status; `None` if the command timed out.
    pub status: Option<ExitStatus>,
    /// The limit for which the command was killed.
    pub exceeded: Option<ExceededLimit>,
    /// Protected paths that were put back or could not be checked, hosts that the proxy refused,
    /// and what the sandbox may have refused according to the output.
    pub refused: Vec<Refusal>,
}

/// What is missing from the middle of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputGap {
    /// Where it is missing: an index of the text.
    pub at: usize,
    /// The number of bytes.
    pub bytes: usize,
    /// The number of characters.
    pub chars: usize,
}

/// Kills a command and everything it started when dropped, also when the caller stops waiting.
struct Running {
    /// The supervisor, or the shell itself.
    child: Option<Child>,
    first: Option<Pid>,
    /// The line to the supervisor. Closing it makes the supervisor kill the command.
    line: Option<UnixStream>,
    /// The directories in which other commands may run too.
    watch: Option<Watch>,
}

impl Running {
    fn new(child: Child, line: Option<UnixStream>, watch: Option<Watch>) -> Self {
        let first = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { child: Some(child), first, line, watch }
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
        self.end_watch(report.as_mut());
        report
    }

    /// Checks the directories in which other commands ran meanwhile.
    #[cfg(target_os = "linux")]
    fn end_watch(&mut self, report: Option<&mut Report>) {
        let Some(checked) = self.watch.take().map(Watch::end) else { return };
        if let Some(report) = report {
            report.blocked.extend(checked.blocked);
            report.unchecked.extend(checked.unchecked);
            report.unchecked.sort();
            report.unchecked.dedup();
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn end_watch(&mut self, _: Option<&mut Report>) {
        drop(self.watch.take());
    }
}

/// Kills what is left of a command, and moves what its supervisor blocked to a directory.
fn end(mut running: Running, guarded: &[PathBuf], aside: Option<&Path>) -> Option<Report> {
    let mut report = running.end()?;
    #[cfg(target_os = "linux")]
    if let Some(aside) = aside {
        crate::protected::set_aside(&mut report.blocked, guarded, aside);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (guarded, aside, &mut report);
    Some(report)
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
            let mut running = Self {
                child: self.child.take(),
                first: self.first,
                line: self.line.take(),
                watch: self.watch.take(),
            };
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
    dropped_bytes: usize,
    dropped_chars: usize,
}

impl OutputBuffer {
    fn push(&mut self, bytes: &[u8]) {
        let room = HEAD_BYTES - self.head.len().min(HEAD_BYTES);
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.dropped_bytes += excess;
        // Each character has one byte that does not continue another.
        let starts = |byte: &u8| byte & 0b1100_0000 != 0b1000_0000;
        self.dropped_chars += self.tail.drain(..excess).filter(starts).count();
    }

    fn text(self) -> (String, Option<OutputGap>) {
        let Self { head, tail, dropped_bytes: bytes, dropped_chars: chars } = self;
        let mut text = String::from_utf8_lossy(&head).into_owned();
        let gap = (bytes > 0).then_some(OutputGap { at: text.len(), bytes, chars });
        text.push_str(&String::from_utf8_lossy(&Vec::from(tail)));
        (text, gap)
    }
}

async fn collect(
    mut pipe: Receiver,
    buffer: Arc<Mutex<OutputBuffer>>,
    on_output: Option<OnOutput>,
) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = pipe.read(&mut bytes).await {
        let read = bytes.get(..count).unwrap_or_default();
        buffer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(read);
        if let Some(OnOutput(receive)) = &on_output {
            receive(read);
        }
    }
}
