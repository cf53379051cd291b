//! Runs the entry functions of the fuzz targets on changed seeds. The changes are random but
//! reproducible; `scripts/fuzz` does the same with coverage as its guide.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

#[path = "../../../fuzz/src/entries.rs"]
mod entries;

use std::panic::catch_unwind;
use std::path::Path;

use waterline_testkit::dice::Dice;
use waterline_testkit::effort;

/// Pieces that mean something to one of the parsers.
const PIECES: &[&str] = &[
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "1e999",
    "99999999999999999999",
    "\\ud800",
    "\\u0000",
    "\0",
    "\n",
    "\u{202e}",
    "潮",
    "data: ",
    "event: ",
    ": ping",
    "\r\n\r\n",
    "\u{feff}",
    "\"role\":",
    "\"type\":",
    "\"content\":",
    "\"error\":",
    "\"id\":",
    "\"index\":",
    "= ",
    "[[stages]]",
    "$(",
    "`",
    "<<EOF",
    "'",
    "${",
    ";",
    "&&",
    "|",
    "\\",
];

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Changes an input in a few places.
fn mutate(input: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let size = |number: usize| u64::try_from(number).unwrap();
    let mut below = |most: usize| usize::try_from(dice.throw(size(most))).unwrap();
    for _ in 0..=below(6) {
        let at = below(input.len() + 1);
        let end = (at + below(40)).min(input.len());
        match below(7) {
            0 if at < input.len() => input[at] ^= 1 << below(8),
            1 => drop(input.drain(at..end)),
            2 => {
                let copied = input[at..end].to_vec();
                input.splice(at..at, copied);
            }
            3 | 4 => {
                let piece = PIECES[below(PIECES.len())];
                input.splice(at..end.min(at + below(3)), piece.bytes());
            }
            5 => {
                let from = below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => input.truncate(input.len() - below(input.len() / 4 + 1)),
        }
    }
}

fn run(target: &str, rounds: u64) {
    let (_, entry) = entries::TARGETS.into_iter().find(|(name, _)| *name == target).unwrap();
    let seeds = seeds(target);
    for round in 0..rounds {
        let mut dice = Dice::new(round + 1);
        let count = u64::try_from(seeds.len()).unwrap();
        let mut pick = || &seeds[usize::try_from(dice.throw(count)).unwrap()];
        let mut input = pick().clone();
        let other = pick();
        if round >= count {
            mutate(&mut input, other, &mut dice);
        } else {
            input.clone_from(&seeds[usize::try_from(round).unwrap()]);
        }
        if catch_unwind(|| entry(&input)).is_err() {
            panic!("{target}, round {round}: {:?}", String::from_utf8_lossy(&input));
        }
    }
}

macro_rules! targets {
    ($($name:ident: $rounds:expr),+ $(,)?) => {$(
        #[test]
        fn $name() {
            run(stringify!($name), $rounds);
        }
    )+};
}

targets! {
    wires: effort(300, 30_000),
    importers: effort(500, 100_000),
    exports: effort(30, 3_000),
    streams: effort(1_000, 300_000),
    bodies: effort(500, 100_000),
    policies: effort(300, 100_000),
    mcp: effort(1_000, 300_000),
    shell: effort(500, 50_000),
}
