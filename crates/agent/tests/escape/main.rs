//! Attempts to escape from the workspace with the tools of a turn. The sandbox crate has those with
//! paths, links and commands. Each trial checks afterwards that nothing outside changed, and does
//! something that must succeed, so that no trial passes because nothing works.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

#[macro_use]
#[path = "../../../sandbox/tests/escape/harness.rs"]
mod harness;
#[path = "../test_bed/mod.rs"]
mod test_bed;
mod tools;
#[allow(dead_code, reason = "shared with the trials of the sandbox, which use more of it")]
#[path = "../../../sandbox/tests/escape/yard.rs"]
mod yard;

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::run(tools::trials, tools::confined_trials)
}
