//! The program as a user starts it, for all test files.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;

use assert_cmd::Command;

/// The result of a run.
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Returns the path of the example session in the repository.
pub fn example() -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/long-session.jsonl")
        .to_str()
        .unwrap()
        .to_owned()
}

/// Returns the program, in English and without variables of the tester's environment.
pub fn waterline() -> Command {
    let mut command = Command::cargo_bin("waterline").unwrap();
    command.env_remove("MAX_MESSAGE_HISTORY").env_remove("CLICOLOR_FORCE");
    command.env("WATERLINE_LANG", "en");
    command
}

/// Runs the program with these arguments and this input.
pub fn run(arguments: &[&str], input: &str) -> Ended {
    let output = waterline().args(arguments).write_stdin(input).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
