//! Reads the keyboard while the agent works: steering, approvals, answers. It is read only while a
//! `Keyboard` exists, so what is typed ahead is left for the next prompt.

use std::io::{IsTerminal, PipeReader, PipeWriter};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

use super::screen::print;
use super::typing::{Typed, Typing};

/// Discards what was typed before a question was shown: it cannot be the answer, and a model may
/// have provoked it with a made-up question.
pub fn forget_typed() {
    if !std::io::stdin().is_terminal() {
        return;
    }
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    // Keys that the line editor has read, but not used.
    while crossterm::event::poll(Duration::ZERO).is_ok_and(|is_some| is_some) {
        let _ = crossterm::event::read();
    }
}

/// Returns whether something was typed that is not read yet.
pub fn has_typed() -> bool {
    let stdin = std::io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let is_waiting = poll(&mut waiting, Some(&Timespec::default())).is_ok_and(|count| count > 0);
    stdin.is_terminal() && is_waiting
}

/// Reads the keyboard until it is dropped.
pub struct Keyboard {
    /// Dropping it ends the thread, which polls the keyboard and this pipe.
    alive: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
    /// Restores the terminal after the thread has ended.
    _mode: Option<Mode>,
}

impl Keyboard {
    /// Starts to read, if standard input is a terminal. If `quiet`, the terminal does not echo, and
    /// every key is reported at once; otherwise the terminal edits the line itself and only whole
    /// lines are reported. `typing` holds the line being typed, so that the caller can replace it.
    pub fn listen(
        quiet: bool,
        typing: Arc<Mutex<Typing>>,
        mut on_typed: impl FnMut(Typed) + Send + 'static,
    ) -> Self {
        if !std::io::stdin().is_terminal() {
            return Self { alive: None, thread: None, _mode: None };
        }
        let mode = if quiet { Mode::quiet() } else { None };
        let pipe = std::io::pipe().ok();
        let start = |(end, alive): (PipeReader, PipeWriter)| {
            (std::thread::spawn(move || read(&end, &typing, &mut on_typed)), alive)
        };
        let (thread, alive) = pipe.map(start).unzip();
        Self { alive, thread, _mode: mode }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.alive = None;
        // Only one thread may read the keyboard at a time.
        self.thread.take().map(JoinHandle::join);
    }
}

fn read(end: &PipeReader, typing: &Mutex<Typing>, on_typed: &mut impl FnMut(Typed)) {
    let stdin = std::io::stdin();
    loop {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        let waited = poll(&mut ready, None);
        let [keys, ended] = ready;
        if waited.is_err_and(|error| error != rustix::io::Errno::INTR)
            || !ended.revents().is_empty()
        {
            return;
        }
        if keys.revents().is_empty() {
            continue;
        }
        let mut buffer = [0; 4_096];
        let Ok(count @ 1..) = rustix::io::read(&stdin, &mut buffer) else {
            return on_typed(Typed::End);
        };
        let keys = buffer.get(..count).unwrap_or_default();
        // The lock is released before the callback, which may take it.
        let typed = typing.lock().unwrap_or_else(PoisonError::into_inner).feed(keys);
        typed.into_iter().for_each(&mut *on_typed);
    }
}

/// The mode of the terminal before line editing and echo were turned off.
struct Mode(Termios);

impl Mode {
    fn quiet() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut quiet = before.clone();
        // Not raw mode: Ctrl-C still sends a signal, and a line feed still starts a new line.
        quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet).ok()?;
        // Turns on bracketed paste.
        print("\x1b[?2004h");
        Some(Self(before))
    }
}

impl Drop for Mode {
    fn drop(&mut self) {
        print("\x1b[?2004l");
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}
