//! The libraries name no flag and no command of the program, because an application that embeds
//! them has neither. The catalog of errors adds both.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::{Path, PathBuf};

const LIBRARIES: [&str; 10] = [
    "engine",
    "log",
    "memory",
    "provider",
    "sandbox",
    "session",
    "agent",
    "transcript",
    "replay",
    "config",
];

/// Returns the commands of the program, as an error might name them: one file or directory each.
fn commands() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/command");
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let names = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| name != "mod").collect()
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Whether a line of code, not of a comment, names a flag (`--max-tokens`) or a command (`waterline
/// run`).
fn names_the_command_line(line: &str, commands: &[String]) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") {
        return false;
    }
    let flag =
        code.split("--").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    flag || commands.iter().any(|command| code.contains(&format!("waterline {command}")))
}

#[test]
fn libraries_name_no_flag_and_no_command_of_the_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let commands = commands();
    let mut found = Vec::new();
    for library in LIBRARIES {
        let mut files = Vec::new();
        sources(&crates.join(library).join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code
                .lines()
                .enumerate()
                .filter(|(_, line)| names_the_command_line(line, &commands));
            found.extend(
                lines.map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim())),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_flag_or_a_command_is_found_in_code_only() {
    let commands = commands();
    let names = |line: &str| names_the_command_line(line, &commands);
    assert!(names("    #[error(\"too long; --max-tokens allows more\")]"));
    assert!(names("    \"`waterline sessions list` shows them\""));
    assert!(names("    \"see `waterline recall`\""));
    assert!(!names("    /// As `--allow-dir` takes them."));
    assert!(!names("    let waterline_run = a - -b;"));
}
