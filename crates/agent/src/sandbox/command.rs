//! One command: started in a session of its own, heard up to a limit, ended after its time, and with it everything it started.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, ChildStdin, Command};

use super::{Order, Rules, Shell};

/// How much of an output is kept: its beginning and its end.
const HEAD_BYTES: usize = 512 * 1024;
const TAIL_BYTES: usize = 512 * 1024;

/// How long it is listened for what a command wrote last; a process that got away may hold the output open for ever.
const LISTENING: Duration = Duration::from_secs(2);

/// What came of a command.
#[derive(Debug)]
pub struct Ended {
    /// What it wrote, to both of its outputs, in the order it wrote it.
    pub output: String,
    /// How it ended; none where its time was over.
    pub status: Option<ExitStatus>,
    /// Bytes in the middle of the output that were not kept.
    pub dropped: usize,
}

/// Ends a command and everything it started when it goes out of use: also when nobody waits for the command any more.
struct Started {
    /// The launcher, or the shell itself.
    first: Option<Pid>,
    /// Its end tells the launcher that nobody wants the command any more.
    held: Option<ChildStdin>,
}

impl Started {
    fn of(child: &mut Child) -> Self {
        let first = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { first, held: child.stdin.take() }
    }

    /// It has ended, and with it whatever it had started.
    fn forget(mut self) {
        self.first = None;
    }

    fn end(&mut self) {
        self.held = None;
        let Some(first) = self.first.take() else { return };
        // What has ended already needs no end.
        let _ = rustix::process::kill_process_group(first, Signal::KILL);
        #[cfg(target_os = "linux")]
        super::family::end(first);
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.first.is_some() {
            let mut left = Self { first: self.first.take(), held: self.held.take() };
            // Whoever gave the command up does not wait for its end.
            std::thread::spawn(move || left.end());
        }
    }
}

/// Runs a command in a folder.
///
/// # Errors
/// When it cannot be started.
pub async fn run(
    shell: &Shell,
    rules: &Rules,
    folder: &Path,
    text: &str,
    time: Option<Duration>,
) -> std::io::Result<Ended> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = command(shell, rules, text)?;
    command.current_dir(folder).env_clear().envs(shell.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the ends that are written to; with ours open the output would never end.
    drop(command);
    let mut started = Started::of(&mut child);
    if shell.launcher.is_none() {
        started.held = None;
    }
    let heard = Arc::new(Mutex::new(Heard::default()));
    let listener = tokio::spawn(listen(Receiver::from_owned_fd(reader.into())?, Arc::clone(&heard)));
    let status = match tokio::time::timeout(time.unwrap_or(shell.time), child.wait()).await {
        Ok(status) => Some(status?),
        Err(_) => None,
    };
    // What it left running in the background ends with it, and so the output ends. A launcher has seen to that.
    match status.and_then(|status| status.code()) {
        Some(_) if shell.launcher.is_some() => started.forget(),
        _ => tokio::task::spawn_blocking(move || started.end()).await?,
    }
    let abort = listener.abort_handle();
    drop(tokio::time::timeout(LISTENING, listener).await);
    abort.abort();
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let (output, dropped) = heard.text();
    Ok(Ended { output, status, dropped })
}

/// The shell, through the launcher where there is one; else in a process group of its own.
fn command(shell: &Shell, rules: &Rules, text: &str) -> std::io::Result<Command> {
    let shell_program = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
    let mut command = match shell.launcher.as_deref().and_then(<[_]>::split_first) {
        Some((program, arguments)) => {
            let order = Order { rules: rules.clone(), confined: shell.confined, kept: false };
            let mut command = Command::new(program);
            command.args(arguments).arg(serde_json::to_string(&order)?).arg("--").arg(shell_program);
            command
        }
        None => {
            let mut command = Command::new(shell_program);
            command.process_group(0);
            command
        }
    };
    command.arg("-c").arg(text);
    Ok(command)
}

/// The beginning and the end of an output of any length.
#[derive(Default)]
struct Heard {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    dropped: usize,
}

impl Heard {
    fn take(&mut self, bytes: &[u8]) {
        let room = HEAD_BYTES - self.head.len().min(HEAD_BYTES);
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        self.dropped += over;
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

async fn listen(mut from: Receiver, heard: Arc<Mutex<Heard>>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..count).unwrap_or_default();
        heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(bytes);
    }
}
