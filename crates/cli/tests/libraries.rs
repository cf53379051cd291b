//! The libraries name no flag and no command of the program, because an application that embeds
//! them has neither. The catalog of errors adds both. Nothing but a tool has the name of the tool.
//! Comments fit into 100 columns.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use waterline_sandbox::Shell;

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
/// run`). The arguments of a command that a library runs are no flags of this program.
fn names_the_command_line(line: &str, commands: &[String]) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") || code.starts_with(".args([") {
        return false;
    }
    let flag =
        code.split("--").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    flag || commands.iter().any(|command| code.contains(&format!("waterline {command}")))
}

/// Returns the lines of code in the sources of these crates for which `is_wrong` holds, with their
/// places. Tests are not searched.
fn lines_where(crates: &[&str], is_wrong: impl Fn(&Path, &str) -> bool) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for name in crates {
        let mut files = Vec::new();
        sources(&root.join(name).join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().enumerate().filter(|(_, line)| is_wrong(&file, line));
            found.extend(
                lines.map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim())),
            );
        }
    }
    found
}

#[test]
fn libraries_name_no_flag_and_no_command_of_the_program() {
    let commands = commands();
    let found = lines_where(&LIBRARIES, |_, line| names_the_command_line(line, &commands));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Whether a line has a text with the name of a tool as a word. A comment, or a key of the stored
/// state that is called like a tool, does not count.
fn names_a_tool(line: &str, tools: &[String]) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") || code.contains("fields.") {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let texts = code.split('"').skip(1).step_by(2);
    texts.flat_map(|text| text.split(|c| !is_word(c))).any(|word| tools.iter().any(|t| t == word))
}

/// A tool describes itself, so that a new one needs no change elsewhere.
#[test]
fn only_the_tools_themselves_have_their_names() {
    let toolbox = waterline_agent::tool::Toolbox::new(Arc::new(Shell::unconfined()));
    let tiers = toolbox.tiers(&waterline_agent::Local::default(), &[]);
    let names: Vec<String> = tiers.iter().map(|(tool, _)| tool.name().to_owned()).collect();
    assert!(names_a_tool(r#"    switch("write_file", true)"#, &names));
    assert!(!names_a_tool(r#"    fields.take("hand_off")?;  // "write_file""#, &names));
    // Words of the language, which may mean something else.
    let tools: Vec<String> = names.into_iter().filter(|name| name.contains('_')).collect();
    assert!(tools.len() > 10, "{tools:?}");
    let found = lines_where(&["session", "agent", "config", "cli"], |file, line| {
        !file.display().to_string().contains("agent/src/tool/") && names_a_tool(line, &tools)
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/presets/risks.toml");
    let presets = std::fs::read_to_string(presets).unwrap();
    assert_eq!(presets.lines().find(|line| names_a_tool(line, &tools)), None);
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
    assert!(!names("            .args([\"--no-pager\", \"config\"])"));
}

/// The formatter does not break comments.
#[test]
fn comments_fit_into_a_hundred_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for directory in std::fs::read_dir(root).unwrap() {
        sources(&directory.unwrap().path().join("src"), &mut files);
    }
    sources(&root.join("../fuzz/src"), &mut files);
    assert!(files.len() > 500, "{}", files.len());
    let mut long = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (at, line) in text.lines().enumerate() {
            let start = line.trim_start();
            // A regular expression cannot be broken.
            let is_prose = start.starts_with("//") && !start.starts_with("// [^");
            if is_prose && line.chars().count() > 100 {
                long.push(format!("{}:{}", file.display(), at + 1));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
