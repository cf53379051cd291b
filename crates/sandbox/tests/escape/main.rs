//! Attempts to escape from the workspace: with paths and links, with commands and the processes
//! they start. Each trial also does something that must succeed, so that none passes because
//! nothing works, and checks afterwards that nothing outside has changed.
//!
//! The test program is its own launcher.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails loudly"
)]

/// Lists trials named after their functions.
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
        // Without Landlock half of the tests cannot run. That is a failure unless it is expected.
        Support::None(why) => {
            let expected = std::env::var_os("WATERLINE_NO_LANDLOCK").is_some();
            let hint = "set WATERLINE_NO_LANDLOCK=1 if this kernel is expected to have none";
            let outcome =
                move || if expected { Ok(()) } else { Err(format!("{why}; {hint}").into()) };
            trials.push(Trial::test("commands::kernel_has_no_landlock", outcome));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A trial in a new yard, which fails if anything outside the workspace was changed.
fn trial(name: &str, body: fn(&Yard)) -> Trial {
    Trial::test(name, move || {
        let yard = Yard::new();
        body(&yard);
        yard.check();
        Ok(())
    })
}
