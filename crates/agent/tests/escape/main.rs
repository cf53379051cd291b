//! Attempts to get out of the workspace with the tools of a turn. The sandbox crate has those with
//! paths, links and commands. Each trial looks afterwards at what lies outside, and does beside
//! each attempt something that must go well, so that none passes because nothing works.
//!
//! The test program is its own launcher.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

/// Trials that are called as their functions are.
macro_rules! trials {
    ($group:literal: $($name:ident),+ $(,)?) => {
        vec![$($crate::trial(concat!($group, "::", stringify!($name)), $name)),+]
    };
}

#[path = "../test_bed/mod.rs"]
mod test_bed;
mod tools;
#[allow(dead_code, reason = "it is shared with the trials of the sandbox, which use more of it")]
#[path = "../../../sandbox/tests/escape/yard.rs"]
mod yard;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use waterline_sandbox::{Support, support};
use yard::Yard;

fn main() -> ExitCode {
    // The test program is its own launcher.
    if let Some(code) = waterline_sandbox::launcher() {
        return code;
    }
    let arguments = Arguments::from_args();
    let mut trials = tools::trials();
    match support() {
        Support::Full => trials.extend(tools::confined_trials()),
        // Whoever runs the tests on a kernel without Landlock says so; nobody else misses half of
        // them unawares.
        Support::None(why) => {
            let known = std::env::var_os("WATERLINE_NO_LANDLOCK").is_some();
            let how = "set WATERLINE_NO_LANDLOCK=1 if this kernel is meant to have none";
            let outcome = move || if known { Ok(()) } else { Err(format!("{why}; {how}").into()) };
            trials.push(Trial::test("commands::the_kernel_here_confines_none", outcome));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
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
