//! The screens in the documentation, for tests that compare them with real ones.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it; a test fails loudly"
)]

use std::path::PathBuf;

/// A code block of a page.
pub struct Block {
    pub page: &'static str,
    pub lines: Vec<String>,
}

/// Returns the blocks of a page with commands and their output.
pub fn blocks(page: &'static str) -> Vec<Block> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|block| Block { page, lines: block.lines().map(str::to_owned).collect() }).collect()
}

/// Returns the language of a page.
pub fn language(page: &str) -> &'static str {
    if page.ends_with(".zh.md") { "zh" } else { "en" }
}

/// Fails unless the screen has these lines in this order. A line `…` matches any number of lines,
/// and `…` at the end of a line the rest of it.
pub fn assert_shown(page: &str, lines: &[String], screen: &str) {
    let wanted: Vec<String> = lines.iter().map(|line| stable(line)).collect();
    let shown: Vec<String> = screen.lines().map(stable).collect();
    let starts = 0..shown.len();
    let is_shown = starts.into_iter().any(|start| matches(&wanted, &shown[start..]));
    assert!(
        is_shown,
        "{page} shows a screen that is no longer real:\n{}\nThe real screen:\n{screen}",
        lines.join("\n")
    );
}

fn matches(wanted: &[String], shown: &[String]) -> bool {
    match wanted {
        [] => true,
        [gap, rest @ ..] if gap.trim() == "…" => {
            (0..=shown.len()).any(|skipped| matches(rest, &shown[skipped..]))
        }
        [line, rest @ ..] => {
            shown.first().is_some_and(|first| same(line, first)) && matches(rest, &shown[1..])
        }
    }
}

fn same(wanted: &str, shown: &str) -> bool {
    wanted == shown || wanted.strip_suffix('…').is_some_and(|start| shown.starts_with(start))
}

/// Returns a line without what differs between two runs: ids of sessions, times, the size of a
/// context whose system prompt names directories, and of the file that names the owner of a
/// workspace.
fn stable(line: &str) -> String {
    let line = match line.split_once(" ›") {
        Some((gauge, typed)) if gauge.contains("28k") => format!("28k ›{typed}"),
        _ => match line.split_once("workspace.json (") {
            Some((before, _)) => format!("{before}workspace.json"),
            None => line.to_owned(),
        },
    };
    let is_id = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        [8, 32].contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit())
    };
    let is_time = |words: &[&str]| matches!(words, [number, unit] if unit.trim_end_matches('秒') == "s" && number.contains('.'));
    let words: Vec<&str> = line.trim_end().split(' ').collect();
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at..at + 2).unwrap_or_default();
        kept.push(if is_id(word) || is_time(next) { "_" } else { *word });
    }
    kept.join(" ")
}
