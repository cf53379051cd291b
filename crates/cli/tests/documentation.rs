//! The documentation is correct: every requirement has a line, every test that it names exists, and
//! every key is documented.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

mod program;
mod screens;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the numbers of all requirements, by section.
fn numbers() -> Vec<String> {
    let counts =
        [("S0.", 78), ("S1.", 48), ("S2.", 35), ("S3.", 50), ("S4.", 41), ("V", 15), ("E.", 22)];
    let contradictions = [("C0.", 11), ("C1.", 13), ("C2.", 10), ("C3.", 11), ("C4.", 8)];
    let all = counts.into_iter().chain(contradictions);
    all.flat_map(|(prefix, count)| (1..=count).map(move |n| format!("{prefix}{n}"))).collect()
}

/// The statuses of docs/requirements.md, in the order of its table of counts.
const STATUSES: [&str; 5] = ["shown", "untested", "stored only", "different", "not built"];

#[test]
fn every_requirement_has_a_status_and_every_test_named_exists() {
    let document = read("docs/requirements.md");
    let expected: BTreeSet<String> = numbers().into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut counts = [0_usize; STATUSES.len()];
    for line in document.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some(number) = cells.first().filter(|number| expected.contains(**number)) else {
            continue;
        };
        let [_, requirement, status, reason] = cells.as_slice() else { panic!("{line}") };
        assert!(seen.insert((*number).to_owned()), "{number} is listed twice");
        assert!(!requirement.is_empty() && !reason.is_empty(), "{line}");
        let at = STATUSES.iter().position(|known| known == status);
        counts[at.unwrap_or_else(|| panic!("{number} has the unknown status {status:?}"))] += 1;
        let quoted = reason.split('`').skip(1).step_by(2);
        let tests: Vec<(&str, &str)> = quoted.filter_map(|name| name.split_once("::")).collect();
        assert!(*status != "shown" || !tests.is_empty(), "{number} is shown by no test");
        for (path, function) in tests {
            let source = read(&format!("crates/{path}"));
            // The property tests of the presets are named in a macro: `auto = "auto"`.
            let exists = source.contains(&format!("fn {function}("))
                || source.contains(&format!("{function} = \""));
            assert!(exists, "{number} names {path}::{function}, which does not exist");
        }
    }
    let missing: Vec<&String> = expected.difference(&seen).collect();
    assert!(missing.is_empty(), "not in docs/requirements.md: {missing:?}");
    let stated =
        format!("| all | {} | {} |", counts.map(|count| count.to_string()).join(" | "), seen.len());
    assert!(document.lines().any(|line| line == stated), "the counts should be {stated}");
}

#[test]
fn links_between_documents_have_a_target() {
    let mut documents = vec![
        "README.md".to_owned(),
        "README.zh.md".into(),
        "ARCHITECTURE.md".into(),
        "CONTRIBUTING.md".into(),
        "GLOSSARY.md".into(),
        "CHANGELOG.md".into(),
    ];
    for directory in ["docs", "docs/decisions", "docs/reference"] {
        let entries = std::fs::read_dir(root().join(directory)).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name());
        documents.extend(
            files
                .map(|name| format!("{directory}/{}", name.to_str().unwrap()))
                .filter(|name| name.ends_with(".md")),
        );
    }
    for document in documents {
        let directory = Path::new(&document).parent().unwrap().to_owned();
        for target in read(&document).split("](").skip(1).filter_map(|rest| rest.split(')').next())
        {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") {
                assert!(root().join(&directory).join(path).exists(), "{document} links to {path}");
            }
        }
    }
}

#[test]
fn every_stage_preset_and_key_is_documented() {
    let guide = read("docs/policies.md");
    let reference = read("docs/reference/policies.md");
    for stage in waterline::stage::STAGES {
        assert!(guide.contains(&format!("`{}`", stage.name)), "stage {}", stage.name);
        for key in stage.keys {
            assert!(
                reference.contains(&format!("`{}.{}`", stage.name, key.name)),
                "key {}.{}",
                stage.name,
                key.name
            );
        }
    }
    for key in waterline::policy::FOLD_KEYS {
        assert!(reference.contains(&format!("`fold.{}`", key.name)), "key fold.{}", key.name);
    }
    for preset in waterline::policy::PRESETS {
        assert!(guide.contains(&format!("`{}`", preset.name)), "preset {}", preset.name);
    }
}

/// The Rust block of the README is one of the examples, which are compiled and run.
#[test]
fn the_readme_shows_code_that_runs() {
    let readme = read("README.md");
    let (_, after) = readme.split_once("```rust\n").unwrap();
    let (block, _) = after.split_once("```").unwrap();
    let example = read("crates/engine/examples/readme.rs");
    assert!(example.ends_with(block), "crates/engine/examples/readme.rs and the README differ");
}

/// The lines of Rust code without comments and white space, in paragraphs.
fn paragraphs(code: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in code.lines() {
        let line = line.trim();
        if line.is_empty() || line == "…" {
            found.push(String::new());
        } else if !line.starts_with("//") {
            let line = line.split_once(" //").map_or(line, |(line, _)| line);
            let words = line.split_whitespace();
            found.last_mut().unwrap().extend(words);
        }
    }
    found.retain(|paragraph| paragraph.len() > 1);
    found
}

/// The Rust code in docs/ is in an example, which is compiled and run: paragraph by paragraph.
#[test]
fn the_guides_show_code_that_is_compiled() {
    let mut examples = String::new();
    for part in std::fs::read_dir(root().join("crates")).unwrap() {
        let directory = part.unwrap().path().join("examples");
        for file in std::fs::read_dir(directory).into_iter().flatten() {
            let path = file.unwrap().path();
            if path.is_file() {
                examples += &paragraphs(&std::fs::read_to_string(path).unwrap()).concat();
                examples.push('\n');
            }
        }
    }
    let mut count = 0;
    for page in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = page.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for block in text.split("```rust\n").skip(1) {
            let code = block.split("```").next().unwrap_or_default();
            for paragraph in paragraphs(code) {
                count += 1;
                assert!(
                    examples.contains(&paragraph),
                    "no example has this code of {}:\n{paragraph}\nin\n{code}",
                    path.display()
                );
            }
        }
    }
    assert!(count > 12, "only {count} paragraphs");
}

/// Each command has a section with its help. `scripts/reference` writes the page.
#[test]
fn the_command_reference_is_current() {
    let page = read("docs/reference/commands.md");
    let mut sections = 0;
    for section in page.split("\n## `waterline").skip(1) {
        let (command, after) = section.split_once('`').unwrap();
        let (_, after) = after.split_once("```text\n").unwrap();
        let (block, _) = after.split_once("```").unwrap();
        let shown = help_of(command);
        assert_eq!(block, shown, "`waterline{command}`: run scripts/reference");
        for name in subcommands(&shown) {
            let title = format!("\n## `waterline{command} {name}`\n");
            assert!(page.contains(&title), "{title} is missing: run scripts/reference");
        }
        sections += 1;
    }
    assert!(sections > 0, "the page has no commands");
}

/// The outputs of `plan` and `replay` in the documentation are real.
#[test]
fn the_tables_of_plan_and_replay_are_current() {
    let mut compared = 0;
    for page in ["README.md", "README.zh.md", "docs/plan.md", "docs/replay.md"] {
        for block in screens::blocks(page) {
            for part in block.lines.join("\n").split("$ waterline ").skip(1) {
                let (command, output) = part.split_once('\n').unwrap_or((part, ""));
                let is_table = command.starts_with("plan examples/")
                    || command.starts_with("replay examples/");
                if !is_table || output.is_empty() {
                    continue;
                }
                let mut program = program::waterline();
                program.current_dir(root()).args(command.split_whitespace());
                program.env("WATERLINE_LANG", screens::language(page));
                let shown = String::from_utf8(program.output().unwrap().stdout).unwrap();
                let lines: Vec<String> = output.lines().map(str::to_owned).collect();
                screens::assert_shown(page, &lines, &shown);
                compared += 1;
            }
        }
    }
    assert!(compared >= 5, "{compared} tables were found");
}

/// Returns the help of a command, without trailing blanks, in English and 100 columns wide.
fn help_of(command: &str) -> String {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_waterline"));
    program.args(command.split_whitespace()).args(["--help", "--lang", "en"]);
    let output = program.env("COLUMNS", "100").env_remove("WATERLINE_LOG").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the names under `Commands:` of a help text.
fn subcommands(help: &str) -> Vec<&str> {
    let Some((_, after)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = after.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}
