//! The harness of the escape trials, shared with the trials of the agent's tools. The test program
//! is its own launcher.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use waterline_sandbox::{Support, support};

use crate::yard::Yard;

/// Lists trials named after their functions.
macro_rules! trials {
    ($group:literal: $($name:ident),+ $(,)?) => {
        vec![$($crate::harness::trial(concat!($group, "::", stringify!($name)), $name)),+]
    };
}

/// Runs trials, some of which need a kernel with Landlock.
pub(crate) fn run(always: fn() -> Vec<Trial>, confined: fn() -> Vec<Trial>) -> ExitCode {
    if let Some(code) = waterline_sandbox::launcher() {
        return code;
    }
    let arguments = Arguments::from_args();
    let mut trials = always();
    match support() {
        Support::Full => trials.extend(confined()),
        // Without Landlock many trials cannot run. That is a failure unless it is expected.
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
pub(crate) fn trial(name: &str, body: fn(&Yard)) -> Trial {
    Trial::test(name, move || {
        let yard = Yard::new();
        body(&yard);
        yard.check();
        Ok(())
    })
}
