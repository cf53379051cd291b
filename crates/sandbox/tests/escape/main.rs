//! Attempts to escape from the workspace: with paths and links, with commands and the processes
//! they start. Each trial also does something that must succeed, so that none passes because
//! nothing works, and checks afterwards that nothing outside has changed.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

#[macro_use]
mod harness;
mod attributes;
mod commands;
mod files;
mod planted;
mod privileges;
mod processes;
mod protected;
mod replaced;
mod without_root;
mod yard;

use std::process::ExitCode;

use libtest_mimic::Trial;

fn main() -> ExitCode {
    harness::run(files::trials, confined_trials)
}

/// Trials that need Landlock.
fn confined_trials() -> Vec<Trial> {
    let all = [
        commands::trials,
        processes::trials,
        privileges::trials,
        protected::trials,
        planted::trials,
        replaced::trials,
        attributes::trials,
        without_root::trials,
    ];
    all.iter().flat_map(|trials| trials()).collect()
}
