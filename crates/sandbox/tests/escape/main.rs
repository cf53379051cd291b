//! Attempts to get out of the workspace: with paths and links, with commands and what they start.
//! Each trial looks afterwards at what lies outside, and does beside each attempt something that
//! must go well, so that none passes because nothing works.
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

mod commands;
mod files;
mod processes;
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
    let mut trials = files::trials();
    match support() {
        Support::Full => {
            trials.extend(commands::trials());
            trials.extend(processes::trials());
        }
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
