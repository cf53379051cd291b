//! A pseudo-terminal that the program runs in: tests type keys and read the screen.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::world::{World, until, until_or};

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// The number of prompts on the screen when a line was last typed.
    prompts: usize,
    _master: Box<dyn MasterPty + Send>,
}

impl Terminal {
    /// Starts a chat.
    pub fn start(world: &World, more: &[&str]) -> Self {
        Self::of(world, "chat", more)
    }

    /// Starts a command of the agent in the home directory.
    pub fn of(world: &World, command: &str, more: &[&str]) -> Self {
        Self::at(world, world.home.path(), command, more)
    }

    /// Starts a command of the agent in a directory.
    pub fn at(world: &World, directory: &Path, command: &str, more: &[&str]) -> Self {
        let arguments = world.arguments(command);
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Self::new(world, directory, 120, &arguments)
    }

    /// Starts the program in a directory, in a terminal of this width.
    pub fn new(world: &World, directory: &Path, columns: u16, arguments: &[&str]) -> Self {
        let rows = 400;
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut program = CommandBuilder::new(env!("CARGO_BIN_EXE_waterline"));
        program.cwd(directory);
        program.env_clear();
        world.variables().iter().for_each(|(name, value)| program.env(name, value));
        program.args(arguments);
        let child = pair.slave.spawn_command(program).unwrap();
        let screen = vt100::Parser::new(
            NonZeroU16::new(rows).unwrap(),
            NonZeroU16::new(columns).unwrap(),
            1_000,
        );
        let screen = Arc::new(Mutex::new(screen));
        let seen = Arc::clone(&screen);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let answers = Arc::new(Mutex::new(keys));
        let replies = Arc::clone(&answers);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..count]);
                // The program queries the position of the cursor; a terminal replies.
                if bytes[..count].windows(4).any(|window| window == b"\x1b[6n") {
                    let (row, column) = seen.lock().unwrap().screen().cursor_position();
                    let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                    replies.lock().unwrap().write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        Self { child, keys: Box::new(Keys(answers)), screen, prompts: 0, _master: pair.master }
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Types keys.
    pub fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until a text is on the screen.
    pub fn sees(&self, text: &str) {
        until_or(
            || format!("{text:?} on the screen:\n{}", self.screen()),
            || self.screen().contains(text),
        );
    }

    /// Waits for a new prompt.
    pub fn is_ready(&mut self) {
        let count = |screen: &str| screen.matches('›').count();
        until_or(
            || format!("a new prompt:\n{}", self.screen()),
            || {
                let screen = self.screen();
                screen.trim_end().ends_with('›') && count(&screen) > self.prompts
            },
        );
        self.prompts = count(&self.screen());
    }

    /// Plays a transcript: `> ` lines are typed at a new prompt, `! ` lines at once, `< ` lines
    /// must appear after the line typed last.
    pub fn play(&mut self, transcript: &str) {
        let mut from = 0;
        for line in transcript.trim().lines().map(str::trim_start) {
            let (mark, text) = line.split_at(2.min(line.len()));
            match mark {
                "> " | "! " => {
                    if mark == "> " {
                        self.is_ready();
                    }
                    from = self.screen().trim_end().lines().count().saturating_sub(1);
                    self.keys(text);
                    self.keys("\r");
                }
                "< " => until_or(
                    || format!("{text:?} after the last line:\n{}", self.screen()),
                    || self.screen().lines().skip(from).any(|new| new.contains(text)),
                ),
                _ => panic!("not a line of a transcript: {line}"),
            }
        }
    }

    /// Returns the program's process id.
    pub fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the program to end. Returns whether it succeeded.
    pub fn ends(mut self) -> bool {
        let mut ended = None;
        until("the end", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap().success()
    }
}

/// A writer that two threads share.
struct Keys(Arc<Mutex<Box<dyn Write + Send>>>);

impl Write for Keys {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.lock().unwrap().flush()
    }
}
