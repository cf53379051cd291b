//! A model that plays a script, and a folder that is home to the program.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test program uses a part of it; a test fails loudly"
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
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(script::model(lines)).unwrap();
        Self { server, _runtime: runtime, home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The arguments that every command of this world needs.
    pub fn arguments(&self, command: &str) -> Vec<String> {
        let words = [command, "--db", "log.db", "--model", "m", "--base-url", &self.server.url];
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// The environment of the program.
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

    /// The program, in this world.
    pub fn program(&self) -> Command {
        let mut made = Command::new(env!("CARGO_BIN_EXE_waterline"));
        made.current_dir(self.home.path()).env_clear().envs(self.variables());
        made
    }

    /// A command of the agent, without a terminal.
    pub fn command(&self, command: &str, more: &[&str]) -> Command {
        let mut made = self.program();
        made.args(self.arguments(command)).args(more);
        made
    }

    /// Runs a command of the agent; gives its status, its output and what it said beside it.
    pub fn run(&self, command: &str, more: &[&str]) -> (i32, String, String) {
        Self::ended(&mut self.command(command, more))
    }

    /// Runs any command.
    pub fn plain(&self, arguments: &[&str]) -> (i32, String, String) {
        Self::ended(self.program().args(arguments))
    }

    /// Runs a command as it is.
    pub fn ended(command: &mut Command) -> (i32, String, String) {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// The messages of the last request, each as JSON text.
    pub fn last_request(&self) -> Vec<String> {
        let body: serde_json::Value =
            serde_json::from_str(&self.server.received().pop().unwrap().body).unwrap();
        body["messages"].as_array().unwrap().iter().map(ToString::to_string).collect()
    }
}

/// Waits until something is so, and fails if it does not come to be.
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_or(|| what.to_owned(), is_so);
}

/// The same, with words that are made only where it fails.
pub fn until_or(what: impl Fn() -> String, mut is_so: impl FnMut() -> bool) {
    let since = std::time::Instant::now();
    while !is_so() {
        assert!(since.elapsed() < std::time::Duration::from_secs(20), "not in time: {}", what());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
