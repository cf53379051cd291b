//! Attempts to escape from the workspace with the tools of a turn. The sandbox crate has those with
//! paths, links and commands. Each trial checks afterwards that nothing outside changed, and does
//! something that must succeed, so that no trial passes because nothing works.
//!
//! The test program is its own launcher.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

/// Creates trials that are named after their functions.
macro_rules! trials {
    ($group:literal: $($name:ident),+ $(,)?) => {
        vec![$($crate::trial(concat!($group, "::", stringify!($name)), $name)),+]
    };
}

#[path = "../test_bed/mod.rs"]
mod test_bed;
mod tools;
#[allow(dead_code, reason = "shared with the trials of the sandbox, which use more of it")]
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
        // Skipping the confined trials must be explicit, so that they are never skipped unnoticed.
        Support::None(why) => {
            let known = std::env::var_os("WATERLINE_NO_LANDLOCK").is_some();
            let how = "set WATERLINE_NO_LANDLOCK=1 if this kernel has no Landlock";
            let outcome = move || if known { Ok(()) } else { Err(format!("{why}; {how}").into()) };
            trials.push(Trial::test("commands::the_kernel_here_confines_none", outcome));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Creates a trial in a fresh yard, and checks afterwards that nothing outside changed.
fn trial(name: &str, body: fn(&Yard)) -> Trial {
    Trial::test(name, move || {
        let yard = Yard::new();
        body(&yard);
        yard.check();
        Ok(())
    })
}
