//! Public enums of the libraries can get new variants: they are `#[non_exhaustive]`, or listed here
//! with the reason why not.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::collections::BTreeSet;
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

/// The enums that are complete, each group with its reason.
const CLOSED: [(&str, &[&str]); 7] = [
    (
        "every wire must render each variant: a new one must not compile until all of them do",
        &["Body", "Image", "Form", "Role", "Shape", "Json"],
    ),
    ("the rules of conversations depend on each kind", &["AtomKind"]),
    (
        "values of a setting, which the program that reads it must all handle",
        &[
            "When",
            "Resume",
            "By",
            "Allowed",
            "Size",
            "Threshold",
            "RepairMode",
            "Style",
            "Scope",
            "Only",
            "Mode",
            "Placement",
            "NetworkSettings",
            "Middlewares",
            "MiddlewareEntry",
            "PriceSetting",
            "Memory",
            "Tokenizer",
            "WorkspaceChoice",
            "Network",
        ],
    ),
    ("values in the format of the database", &["Encoding", "Relation", "StoredItem"]),
    ("every front end must have a text for each variant", &["Lang", "ModelKind", "Level"]),
    (
        "a decision with a fixed set of outcomes",
        &["Decision", "Risk", "Support", "FileAt", "Added", "Backup", "Place"],
    ),
    ("a closed set by its meaning", &["Speaker", "TextKind", "Status", "Priority", "Source"]),
];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Returns the public enums of a file, each with whether it can grow.
fn enums(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut can_grow = false;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub enum ") {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            found.push((rest.chars().take_while(|&c| is_name(c)).collect(), can_grow));
        }
        let is_before_item = line.starts_with('#') || line.starts_with("///") || line == ")]";
        can_grow = is_before_item && (can_grow || line == "#[non_exhaustive]");
    }
    found
}

#[test]
fn public_enums_can_grow() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    LIBRARIES.iter().for_each(|library| sources(&crates.join(library).join("src"), &mut files));
    let mut unused: BTreeSet<&str> = CLOSED.iter().flat_map(|(_, names)| *names).copied().collect();
    let closed = unused.clone();
    let mut problems = Vec::new();
    for file in files {
        for (name, can_grow) in enums(&std::fs::read_to_string(&file).unwrap()) {
            if can_grow {
                continue;
            }
            unused.remove(name.as_str());
            if !closed.contains(name.as_str()) {
                problems.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(problems.is_empty(), "add #[non_exhaustive], or a reason here:\n{problems:#?}");
    assert!(unused.is_empty(), "these are not closed any more: {unused:?}");
}

#[test]
fn the_attribute_is_found_between_others() {
    let text = "#[non_exhaustive]\n#[derive(Debug)]\npub enum Open {}\n\npub enum Closed<'a> {}";
    let expected = [("Open".to_owned(), true), ("Closed".to_owned(), false)];
    assert_eq!(enums(text), expected);
}
