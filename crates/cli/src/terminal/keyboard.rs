//! What is typed while the agent works: steering, a word on a call, an answer. Nothing is read when
//! nobody listens, so what is typed ahead is there for the next prompt.

use std::io::{IsTerminal, PipeReader, PipeWriter};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

use super::screen::print;
use super::typing::{Typed, Typing};

/// Forgets what was typed before a question stood there: it was no answer to that, perhaps one to a
/// question that a model made up.
pub fn forget_typed() {
    // Without a terminal nothing was typed.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// Listens to the keyboard as long as it is held.
pub struct Keyboard {
    /// Dropping it ends the thread: it waits for the keyboard and for this.
    alive: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
    /// Restores the terminal when the thread has ended.
    _mode: Option<Mode>,
}

impl Keyboard {
    /// Begins to listen, if standard input is a terminal. Where `quiet`, the terminal shows nothing
    /// of what is typed, and every key is heard at once; otherwise the terminal edits the line
    /// itself and a line is heard when it is whole. `typing` is the line: whoever has it can set
    /// aside what was begun.
    pub fn listen(
        quiet: bool,
        typing: Arc<Mutex<Typing>>,
        mut hear: impl FnMut(Typed) + Send + 'static,
    ) -> Self {
        if !std::io::stdin().is_terminal() {
            return Self { alive: None, thread: None, _mode: None };
        }
        let mode = if quiet { Mode::quiet() } else { None };
        let pipe = std::io::pipe().ok();
        let (thread, alive) = pipe
            .map(|(end, alive)| (std::thread::spawn(move || read(&end, &typing, &mut hear)), alive))
            .unzip();
        Self { alive, thread, _mode: mode }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.alive = None;
        // Whoever reads the keyboard next must be the only one.
        self.thread.take().map(JoinHandle::join);
    }
}

fn read(end: &PipeReader, typing: &Mutex<Typing>, hear: &mut impl FnMut(Typed)) {
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
            return hear(Typed::End);
        };
        let keys = buffer.get(..count).unwrap_or_default();
        // Whoever hears it may want the line: it is free by then.
        let typed = typing.lock().unwrap_or_else(PoisonError::into_inner).take(keys);
        typed.into_iter().for_each(&mut *hear);
    }
}

/// How the terminal was before its own editing was switched off.
struct Mode(Termios);

impl Mode {
    fn quiet() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut quiet = before.clone();
        // Not all of what is called raw: Ctrl-C still stops, and a line break still begins a line.
        quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet).ok()?;
        // What is pasted comes marked as such.
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
