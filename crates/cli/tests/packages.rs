//! A package has everything that its code includes: files outside the directory of a crate, and
//! those that its manifest excludes, are missing from it. `cargo package --no-verify` does not
//! notice.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::{Component, Path, PathBuf};

use regex::Regex;

/// The directories that the manifests exclude.
const EXCLUDED: [&str; 2] = ["tests", "benches"];

fn rust_files(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Returns the paths that a file includes, up to the first part that a macro fills in.
fn included(text: &str) -> Vec<String> {
    let include = Regex::new(
        r#"include(?:_str|_bytes)?!\(\s*(?:concat!\(\s*)?"([^"]+)"|#\[path = "([^"]+)"\]"#,
    )
    .unwrap();
    let each = include.captures_iter(text);
    each.filter_map(|found| Some(found.get(1).or_else(|| found.get(2))?.as_str().to_owned()))
        .collect()
}

/// Returns a path below the crate with `..` resolved; `None` if it leaves the crate.
fn inside(crate_root: &Path, file: &Path, included: &str) -> Option<PathBuf> {
    let mut path = file.parent()?.strip_prefix(crate_root).ok()?.to_owned();
    for component in Path::new(included).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(path)
}

#[test]
fn packages_have_the_files_that_their_code_includes() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut problems = Vec::new();
    let mut count = 0;
    for root in std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path()) {
        let mut files = Vec::new();
        ["src", "examples"].iter().for_each(|part| rust_files(&root.join(part), &mut files));
        for file in files {
            for path in included(&std::fs::read_to_string(&file).unwrap()) {
                count += 1;
                let found = inside(&root, &file, &path).filter(|path| {
                    let first = path.components().next();
                    let is_excluded =
                        |name: &&str| first.is_some_and(|first| first.as_os_str() == *name);
                    !EXCLUDED.iter().any(is_excluded) && root.join(path).exists()
                });
                if found.is_none() {
                    problems.push(format!("{} includes {path}", file.display()));
                }
            }
        }
    }
    assert!(count > 40, "only {count} files are included");
    assert!(problems.is_empty(), "not in the package:\n{problems:#?}");
}

#[test]
fn includes_are_found_and_resolved() {
    let text = "include_str!(\"a.txt\"); include_bytes!(\n    concat!(\"b/\", $name)); #[path = \"../c.rs\"]";
    assert_eq!(included(text), ["a.txt", "b/", "../c.rs"]);
    let (root, file) = (Path::new("/x"), Path::new("/x/src/show/mod.rs"));
    assert_eq!(inside(root, file, "../../texts/a"), Some("texts/a".into()));
    assert_eq!(inside(root, file, "../../../other/a"), None);
}
