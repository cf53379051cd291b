//! The documentation is correct: every requirement has a line, every test that it names exists, and
//! every key is documented.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails loudly")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the sources of all crates, joined.
fn sources() -> String {
    fn collect(directory: &Path, text: &mut String) {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut text = String::new();
    collect(&root().join("crates"), &mut text);
    text
}

/// Returns the numbers of all requirements, by section.
fn numbers() -> Vec<String> {
    let counts =
        [("S0.", 78), ("S1.", 48), ("S2.", 35), ("S3.", 50), ("S4.", 41), ("V", 15), ("E.", 22)];
    let contradictions = [("C0.", 11), ("C1.", 13), ("C2.", 10), ("C3.", 11), ("C4.", 8)];
    let all = counts.into_iter().chain(contradictions);
    all.flat_map(|(prefix, count)| (1..=count).map(move |n| format!("{prefix}{n}"))).collect()
}

#[test]
fn every_requirement_is_mapped_to_a_test_that_exists_or_a_crate_to_come() {
    let map = read("docs/requirements.md");
    let sources = sources();
    let mut seen = BTreeSet::new();
    for line in map.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| number")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, shown] = cells.as_slice() else { panic!("{line}") };
        assert!(seen.insert((*number).to_owned()), "{number} twice");
        let tests: Vec<&str> =
            shown.split('`').skip(1).step_by(2).filter(|name| !name.contains(' ')).collect();
        let crates = ["session", "agent", "gateway", "memory"];
        assert!(
            !tests.is_empty() || crates.contains(shown) || shown.contains("`waterline "),
            "{line}"
        );
        for test in tests {
            let exists = sources.contains(&format!("fn {test}("))
                || sources.contains(&format!("{test} = \""));
            assert!(exists, "{number} names the test {test}, which does not exist");
        }
    }
    let missing: Vec<String> =
        numbers().into_iter().filter(|number| !seen.contains(number)).collect();
    assert!(missing.is_empty(), "not in docs/requirements.md: {missing:?}");
}

#[test]
fn links_between_documents_have_a_target() {
    let mut documents = vec![
        "README.md".to_owned(),
        "ARCHITECTURE.md".into(),
        "CONTRIBUTING.md".into(),
        "GLOSSARY.md".into(),
        "CHANGELOG.md".into(),
    ];
    for directory in ["docs", "docs/decisions"] {
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
fn every_stage_and_key_is_in_the_policy_guide() {
    let guide = read("docs/policies.md");
    for stage in waterline::stage::STAGES {
        assert!(guide.contains(&format!("`{}`", stage.name)), "stage {}", stage.name);
        for key in stage.keys {
            assert!(
                guide.contains(&format!("`{}.{}`", stage.name, key.name)),
                "key {}.{}",
                stage.name,
                key.name
            );
        }
    }
    for key in waterline::policy::FOLD_KEYS {
        assert!(guide.contains(&format!("`fold.{}`", key.name)), "key fold.{}", key.name);
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
