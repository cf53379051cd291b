//! Lines that are typed while the agent works: steering, a word on a call, an answer. The terminal edits them itself; nothing is
//! read when nobody listens, so what is typed ahead is there for the next prompt.

use std::io::{IsTerminal, PipeReader, PipeWriter};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Listens to the keyboard as long as it is held.
pub struct Keyboard {
    lines: UnboundedReceiver<String>,
    /// Dropping it ends the thread: it waits for the keyboard and for this.
    alive: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Keyboard {
    /// Begins to listen, if standard input is a terminal.
    pub fn listen() -> Self {
        let (sender, lines) = unbounded_channel();
        let pipe = std::io::stdin().is_terminal().then(std::io::pipe).and_then(Result::ok);
        let (thread, alive) = pipe.map(|(end, alive)| (std::thread::spawn(move || hear(&end, &sender)), alive)).unzip();
        Self { lines, alive, thread }
    }

    /// The next line; none where there is no keyboard, or no more of it.
    pub async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.alive = None;
        // Whoever reads the keyboard next must be the only one.
        self.thread.take().map(JoinHandle::join);
    }
}

fn hear(end: &PipeReader, sender: &UnboundedSender<String>) {
    let stdin = std::io::stdin();
    let mut typed: Vec<u8> = Vec::new();
    loop {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        let waited = poll(&mut ready, None);
        let [keys, ended] = ready;
        if waited.is_err_and(|error| error != rustix::io::Errno::INTR) || !ended.revents().is_empty() {
            return;
        }
        if keys.revents().is_empty() {
            continue;
        }
        let mut buffer = [0; 4_096];
        let Ok(count @ 1..) = rustix::io::read(&stdin, &mut buffer) else { return };
        typed.extend(buffer.iter().take(count));
        while let Some(at) = typed.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = typed.drain(..=at).collect();
            if sender.send(String::from_utf8_lossy(&line).trim().to_owned()).is_err() {
                return;
            }
        }
    }
}
