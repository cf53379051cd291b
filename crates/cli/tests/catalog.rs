//! The texts in `locales/`: both languages have the same ids with the same variables, every id that
//! the code uses exists, and no text is left over.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

/// The variables of each text of a language.
type Catalog = BTreeMap<String, BTreeSet<String>>;

/// Files that may contain Chinese: a log format of another program, and unit tests.
const MAY_BE_CHINESE: [&str; 2] = ["logging.rs", "tests.rs"];

fn catalog(lang: &str) -> Catalog {
    let entry = Regex::new(r"^([a-z][a-z0-9-]*) *=").unwrap();
    let variable = Regex::new(r"\$([a-z_]+)").unwrap();
    let mut texts = Catalog::new();
    let mut current = None;
    for file in files(&crate_root().join("locales").join(lang), "ftl") {
        for line in
            std::fs::read_to_string(&file).unwrap().lines().filter(|line| !line.starts_with('#'))
        {
            if let Some(found) = entry.captures(line) {
                let id = found[1].to_owned();
                assert!(
                    texts.insert(id.clone(), BTreeSet::new()).is_none(),
                    "{id} is defined twice ({lang})"
                );
                current = Some(id);
            }
            let Some(id) = &current else { continue };
            let variables = variable.captures_iter(line).map(|found| found[1].to_owned());
            texts.get_mut(id).unwrap().extend(variables);
        }
    }
    texts
}

fn crate_root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|name| name == extension) {
            found.push(path);
        }
    }
    found
}

/// The code of all crates, without unit tests and comments. The libraries have texts too:
/// `phrase!`.
fn sources() -> String {
    let code = |path: PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_comment = |line: &&str| line.trim_start().starts_with("//");
        code.lines().filter(|line| !is_comment(line)).collect::<Vec<_>>().join("\n")
    };
    let crates = std::fs::read_dir(crate_root().parent().unwrap()).unwrap();
    let sources = crates.map(|found| found.unwrap().path().join("src")).filter(|src| src.is_dir());
    sources.flat_map(|src| files(&src, "rs")).map(code).collect()
}

/// A use of `text!` or `phrase!`: the id and the names of the variables.
struct Use {
    id: String,
    variables: BTreeSet<String>,
}

/// Every use of `text!` and `phrase!` in the code.
fn uses(sources: &str) -> Vec<Use> {
    let start = Regex::new(r#"(?:text|phrase)!\(\s*"([a-z][a-z0-9-]*)""#).unwrap();
    let name = Regex::new(r"^\s*([a-z_]+) = ").unwrap();
    let each = start.captures_iter(sources).map(|found| {
        let rest = &sources[found.get(0).unwrap().end()..];
        let variables = arguments(rest)
            .iter()
            .filter_map(|argument| Some(name.captures(argument)?[1].to_owned()))
            .collect();
        Use { id: found[1].to_owned(), variables }
    });
    each.collect()
}

/// The arguments of a macro, from the one after the id up to the closing parenthesis.
fn arguments(rest: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0_usize;
    let mut is_in_string = false;
    let mut before = ' ';
    for c in rest.chars() {
        match c {
            '"' if before != '\\' => is_in_string = !is_in_string,
            '(' | '[' | '{' if !is_in_string => depth += 1,
            ')' | ']' | '}' if !is_in_string && depth == 0 => break,
            ')' | ']' | '}' if !is_in_string => depth -= 1,
            ',' if !is_in_string && depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        found.last_mut().unwrap().push(c);
        before = c;
    }
    found
}

#[test]
fn both_languages_have_the_same_texts_with_the_same_variables() {
    let english = catalog("en");
    let chinese = catalog("zh");
    for (id, variables) in &english {
        let translated = chinese.get(id).unwrap_or_else(|| panic!("{id} has no Chinese text"));
        assert_eq!(variables, translated, "the variables of {id}");
    }
    // The English help texts are doc comments, and those of other libraries come from them; unit
    // tests of `help.rs` and `error/foreign.rs` check the Chinese ones.
    let is_chinese_only =
        |id: &str| id == "help" || id.starts_with("help-") || id.starts_with("foreign-");
    let extra: Vec<_> =
        chinese.keys().filter(|id| !english.contains_key(*id) && !is_chinese_only(id)).collect();
    assert!(extra.is_empty(), "Chinese texts without an English one: {extra:?}");
}

#[test]
fn every_text_that_the_code_names_exists_and_every_text_is_used() {
    let texts = catalog("en");
    let used: BTreeSet<String> = uses(&sources()).into_iter().map(|found| found.id).collect();
    let missing: Vec<_> = used.iter().filter(|id| !texts.contains_key(*id)).collect();
    assert!(missing.is_empty(), "texts that are not in locales/en: {missing:?}");
    // The ids of descriptions of commands and tools, of reasons and of risks are made from their
    // names; `foreign.rs` lists those of texts of other libraries.
    let has_summary = |id: &str| {
        ["command-", "tool-", "reason-", "risk-", "foreign-"]
            .iter()
            .any(|start| id.starts_with(start))
    };
    let unused: Vec<_> =
        texts.keys().filter(|id| !used.contains(*id) && !has_summary(id)).collect();
    assert!(unused.is_empty(), "texts that no code uses: {unused:?}");
}

#[test]
fn the_variables_of_a_text_are_those_the_code_sets() {
    let texts = catalog("en");
    for Use { id, variables } in uses(&sources()) {
        let Some(wanted) = texts.get(&id) else { continue };
        let missing: Vec<_> = wanted.difference(&variables).collect();
        assert!(missing.is_empty(), "{id} needs {missing:?}, got {variables:?}");
    }
}

#[test]
fn no_chinese_is_left_in_the_code() {
    let chinese = Regex::new(r"\p{Han}").unwrap();
    for path in files(&crate_root().join("src"), "rs") {
        if MAY_BE_CHINESE.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let line = code.lines().find(|line| chinese.is_match(line));
        assert!(line.is_none(), "{}: {}", path.display(), line.unwrap_or_default());
    }
}
