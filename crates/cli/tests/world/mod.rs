//! A model that plays a script, and a home directory for the program.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it; a test fails loudly"
)]

use std::path::PathBuf;
use std::process::Command;

use waterline_testkit::script::{self, Line};
use waterline_testkit::server::Server;

pub struct World {
    pub server: Server,
    _runtime: tokio::runtime::Runtime,
    pub home: tempfile::TempDir,
}

impl World {
    pub fn new(lines: Vec<Line>) -> Self {
        Self::with(|_| lines)
    }

    /// Creates a world whose script knows the paths in its home directory.
    pub fn with(lines: impl FnOnce(&dyn Fn(&str) -> String) -> Vec<Line>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let lines = lines(&|name| home.path().join(name).display().to_string());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(script::model(lines)).unwrap();
        Self { server, _runtime: runtime, home }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns the arguments that every command with a model needs.
    pub fn arguments(&self, command: &str) -> Vec<String> {
        let arguments = [command, "--db", "log.db", "--model", "m", "--base-url", &self.server.url];
        arguments.iter().map(|argument| (*argument).to_owned()).collect()
    }

    /// Returns the environment of the program.
    pub fn variables(&self) -> Vec<(String, String)> {
        let home = self.home.path().display().to_string();
        let set = [
            ("HOME", home.as_str()),
            ("PATH", "/usr/bin:/bin"),
            ("TERM", "xterm-256color"),
            ("LANG", "en_US.UTF-8"),
        ];
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Returns the program with the home directory and the environment of this world.
    pub fn program(&self) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_waterline"));
        program.current_dir(self.home.path()).env_clear().envs(self.variables());
        program
    }

    /// Returns a command with a model, without a terminal.
    pub fn command(&self, command: &str, more: &[&str]) -> Command {
        let mut program = self.program();
        program.args(self.arguments(command)).args(more);
        program
    }

    /// Runs a command with a model; returns its exit status, output and error output.
    pub fn run(&self, command: &str, more: &[&str]) -> (i32, String, String) {
        Self::ended(&mut self.command(command, more))
    }

    /// Runs any command.
    pub fn plain(&self, arguments: &[&str]) -> (i32, String, String) {
        Self::ended(self.program().args(arguments))
    }

    /// Runs a command to its end.
    pub fn ended(command: &mut Command) -> (i32, String, String) {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Returns the messages of the last request, each as JSON text.
    pub fn last_request(&self) -> Vec<String> {
        let body: serde_json::Value =
            serde_json::from_str(&self.server.received().pop().unwrap().body).unwrap();
        body["messages"].as_array().unwrap().iter().map(ToString::to_string).collect()
    }
}

/// Waits until a condition is true; fails after a timeout.
pub fn until(what: &str, is_true: impl FnMut() -> bool) {
    until_or(|| what.to_owned(), is_true);
}

/// Like [`until`], with a message that is made only on failure.
pub fn until_or(what: impl Fn() -> String, mut is_true: impl FnMut() -> bool) {
    let since = std::time::Instant::now();
    while !is_true() {
        assert!(since.elapsed() < std::time::Duration::from_secs(20), "not in time: {}", what());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
