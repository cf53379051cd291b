//! Attempts to get out of the workspace: with paths and links, with the tools of a turn, with commands and what they start.
//! Each trial looks afterwards at what lies outside, and does beside each attempt something that must go well, so that none
//! passes because nothing works.
//!
//! The program is its own launcher: with `--sandbox` it confines itself and becomes the command.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails loudly"
)]

/// Trials that are called as their functions are.
macro_rules! trials {
    ($group:literal: $($name:ident),+ $(,)?) => {
        vec![$($crate::trial(concat!($group, "::", stringify!($name)), $name)),+]
    };
}

mod commands;
mod files;
#[path = "../place/mod.rs"]
mod place;
mod processes;
mod tools;
mod yard;

use std::ffi::OsString;

use libtest_mimic::{Arguments, Trial};
use waterline_agent::sandbox::{self, Support};
use yard::Yard;

fn main() {
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "--sandbox") {
        let entered = sandbox::enter(&words[2].to_string_lossy(), &words[4..]);
        std::process::exit(entered.map_or_else(
            |why| {
                eprintln!("{why}");
                126
            },
            i32::from,
        ));
    }
    let arguments = Arguments::from_args();
    let mut trials = files::trials();
    trials.extend(tools::trials());
    match sandbox::support() {
        Support::Full => {
            trials.extend(commands::trials());
            trials.extend(processes::trials());
        }
        // Whoever runs the tests on a kernel without Landlock says so; nobody else misses half of them unawares.
        Support::None(why) => {
            let known = std::env::var_os("WATERLINE_NO_LANDLOCK").is_some();
            let how = "set WATERLINE_NO_LANDLOCK=1 if this kernel is meant to have none";
            let outcome = move || if known { Ok(()) } else { Err(format!("{why}; {how}").into()) };
            trials.push(Trial::test("commands::the_kernel_here_confines_none", outcome));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A trial in a yard of its own, in which nothing outside may be other than before.
fn trial(name: &str, body: fn(&Yard)) -> Trial {
    Trial::test(name, move || {
        let yard = Yard::new();
        body(&yard);
        yard.check();
        Ok(())
    })
}
