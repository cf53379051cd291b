//! Counts every line of the files in a directory with both vocabularies and compares the counts
//! with those of tiktoken.
//!
//! Usage: `cargo run --release -p waterline --example check_tokens -- DIR`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for developers")]

use std::path::Path;

use waterline::tokens::{Counter, Method};

fn main() {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "examples".to_owned());
    let o200k = tiktoken_rs::o200k_base().unwrap();
    let cl100k = tiktoken_rs::cl100k_base().unwrap();
    let mut lines = 0;
    let mut bytes = 0;
    let mut different = 0;
    visit(Path::new(&directory), &mut |line| {
        let count = |method| Counter::new(method, 0).text(line);
        let ours = (count(Method::O200k), count(Method::Cl100k));
        let theirs = (o200k.encode_ordinary(line).len(), cl100k.encode_ordinary(line).len());
        lines += 1;
        bytes += line.len();
        if ours != theirs {
            different += 1;
            let start: String = line.chars().take(80).collect();
            println!("counted {ours:?}, expected {theirs:?}: {start:?}");
        }
    });
    println!("{lines} lines, {bytes} bytes, {different} counted differently");
    std::process::exit(i32::from(different > 0));
}

fn visit(path: &Path, check: &mut dyn FnMut(&str)) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            visit(&entry.unwrap().path(), check);
        }
    } else if let Ok(text) = std::fs::read_to_string(path) {
        text.lines().for_each(&mut *check);
        // Whole files too: how a newline is counted depends on what follows it.
        check(&text);
    }
}
