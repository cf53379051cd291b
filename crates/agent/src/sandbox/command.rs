//! One command: started in a session of its own, heard up to a limit, ended after its time, and with it everything it started.

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::{Rules, Shell};

/// How much of an output is kept: its beginning and its end.
const HEAD_BYTES: usize = 512 * 1024;
const TAIL_BYTES: usize = 512 * 1024;

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
struct Started(Pid);

impl Drop for Started {
    fn drop(&mut self) {
        // What has ended already needs no end.
        let _ = rustix::process::kill_process_group(self.0, Signal::KILL);
        // A confined command cannot leave its session; what it starts while others are ended is ended in the next round.
        for _ in 0..ROUNDS {
            let left = of_session(self.0);
            if left.is_empty() {
                return;
            }
            for pid in left {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// How often it is looked for what is left of a command.
const ROUNDS: usize = 200;

/// The processes of a session that are not ended yet.
fn of_session(session: Pid) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let belongs = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: state, parent, group, session.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
        let lives = fields.first().is_some_and(|state| *state != "Z" && *state != "X");
        lives && fields.get(3).and_then(|id| id.parse().ok()) == Some(session.as_raw_nonzero().get())
    };
    pids.filter(belongs).filter_map(Pid::from_raw).collect()
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
    let mut command = command(shell, rules, text);
    command.current_dir(folder).env_clear().envs(shell.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    if !shell.is_confined() {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    let mut child = command.spawn()?;
    // The command holds the ends that are written to; with ours open the output would never end.
    drop(command);
    let started = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()).map(Started);
    let heard = Arc::new(Mutex::new(Heard::default()));
    let hearing = Arc::clone(&heard);
    let listener = tokio::task::spawn_blocking(move || listen(reader, &hearing));
    let waiter = tokio::task::spawn_blocking(move || child.wait());
    let status = match tokio::time::timeout(time.unwrap_or(shell.time), waiter).await {
        Ok(joined) => Some(joined.map_err(std::io::Error::other)??),
        Err(_) => None,
    };
    // What it left running in the background ends with it, and so the output ends.
    drop(started);
    drop(tokio::time::timeout(Duration::from_secs(2), listener).await);
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    let (output, dropped) = heard.text();
    Ok(Ended { output, status, dropped })
}

fn command(shell: &Shell, rules: &Rules, text: &str) -> Command {
    let shell_program = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
    let mut command = match shell.launcher.as_deref().and_then(<[_]>::split_first) {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg(serde_json::to_string(rules).unwrap_or_default()).arg("--").arg(shell_program);
            command
        }
        None => Command::new(shell_program),
    };
    command.arg("-c").arg(text);
    command
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

fn listen(mut from: impl Read, heard: &Mutex<Heard>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer) {
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { return };
        heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(bytes);
    }
}
