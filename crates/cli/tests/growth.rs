//! Public enums of the libraries can get new variants, and public structs new fields: they are
//! `#[non_exhaustive]`, or listed here with the reason why not. A struct with a default or a
//! constructor (`new`, `of`) can grow too, because its users need not name every field.
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
            "SummaryFormat",
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
    ("values in the format of the database", &["Encoding", "Relation", "StoredView"]),
    ("every front end must have a text for each variant", &["Lang", "ModelKind", "Level"]),
    (
        "a decision with a fixed set of outcomes",
        &["Decision", "Risk", "Support", "FileAt", "Added", "Backup", "WorkDir"],
    ),
    ("a closed set by its meaning", &["Speaker", "TextKind", "Status", "Priority", "Source"]),
];

/// The structs of which users name every field, each group with its reason.
const COMPLETE: [(&str, &[&str]); 4] = [
    (
        "the caller stores each of them, so a new one must not compile until it does",
        &["ContextUpdate", "Summary", "NewArtifact", "FileRecord"],
    ),
    (
        "the caller decides each of them",
        &[
            "SessionFiles",
            "WorkingDirectory",
            "Cleanup",
            "Skill",
            "Server",
            "ReplayConfig",
            "Prices",
            "Rates",
            "Price",
            "Vendor",
        ],
    ),
    ("a front end has a text for each", &["Heading", "Labels"]),
    ("a measurement is its values", &["Token", "JudgeInfo"]),
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

/// Returns the public structs of a file whose fields are all public, each with whether it is
/// `#[non_exhaustive]` or derives a default.
fn structs(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut can_grow = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("pub struct ").filter(|line| line.ends_with('{')) {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let name: String = rest.chars().take_while(|&c| is_name(c)).collect();
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            let is_word = |line: &&str| line.starts_with(is_name);
            let fields = body.iter().filter_map(|line| line.strip_prefix("    "));
            let mut fields = fields.filter(is_word).peekable();
            if fields.peek().is_some() && fields.all(|field| field.starts_with("pub ")) {
                found.push((name, can_grow));
            }
        }
        let line = line.trim();
        let is_before_item = line.starts_with('#') || line.starts_with("///") || line == ")]";
        let allows = line == "#[non_exhaustive]"
            || line.starts_with("#[derive(") && line.contains("Default");
        can_grow = is_before_item && (can_grow || allows);
    }
    found
}

/// Returns the types of a library that have a default or a constructor.
fn constructed(texts: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        let mut of: Option<String> = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("impl") {
                let is_default = rest.contains("Default for ");
                let rest = rest.split_once(" for ").map_or(rest, |(_, rest)| rest);
                let rest = match rest.strip_prefix('<') {
                    Some(generics) => generics.split_once("> ").map_or("", |(_, rest)| rest),
                    None => rest.trim_start(),
                };
                let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
                let name: String = rest.chars().take_while(is_name).collect();
                if is_default {
                    found.insert(name.clone());
                }
                of = Some(name);
            }
            let starts = ["pub fn new", "pub const fn new", "pub fn of", "pub const fn of"];
            if let Some(name) = &of
                && starts.iter().any(|start| {
                    line.trim_start()
                        .strip_prefix(start)
                        .is_some_and(|rest| rest.starts_with(['(', '<']))
                })
            {
                found.insert(name.clone());
            }
        }
    }
    found
}

#[test]
fn public_structs_can_grow() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let complete: BTreeSet<&str> = COMPLETE.iter().flat_map(|(_, names)| *names).copied().collect();
    let mut unused = complete.clone();
    let mut problems = Vec::new();
    for library in LIBRARIES {
        let mut files = Vec::new();
        sources(&crates.join(library).join("src"), &mut files);
        let read = |file: &PathBuf| {
            let text = std::fs::read_to_string(file).unwrap();
            text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
        };
        let texts: Vec<String> = files.iter().map(read).collect();
        let constructed = constructed(&texts);
        for (name, can_grow) in texts.iter().flat_map(|text| structs(text)) {
            if can_grow || constructed.contains(&name) {
                continue;
            }
            unused.remove(name.as_str());
            if !complete.contains(name.as_str()) {
                problems.push(format!("{library}: {name}"));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "add #[non_exhaustive] or a constructor, or a reason here:\n{problems:#?}"
    );
    assert!(unused.is_empty(), "these are no longer complete: {unused:?}");
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
    assert!(unused.is_empty(), "these are no longer closed: {unused:?}");
}

#[test]
fn the_attribute_is_found_between_others() {
    let text = "#[non_exhaustive]\n#[derive(Debug)]\npub enum Open {}\n\npub enum Closed<'a> {}";
    let expected = [("Open".to_owned(), true), ("Closed".to_owned(), false)];
    assert_eq!(enums(text), expected);
}

#[test]
fn structs_and_constructors_are_found() {
    let text = "#[derive(Debug)]\npub struct Open {\n    /// A field: documented.\n    pub a: u8,\n}\n\n\
                pub struct Hidden {\n    pub a: u8,\n    b: u8,\n}\n\n\
                #[derive(Debug, Default)]\npub struct Usual<'a> {\n    pub a: &'a str,\n}\n\n\
                impl<'a> Made<'a> {\n    #[must_use]\n    pub const fn new(a: &'a str) -> Self {";
    let expected = [("Open".to_owned(), false), ("Usual".to_owned(), true)];
    assert_eq!(structs(text), expected);
    assert_eq!(constructed(&[text.to_owned()]), BTreeSet::from(["Made".to_owned()]));
}
