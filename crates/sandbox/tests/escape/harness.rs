//! The harness of the escape trials, shared with the trials of the agent's tools. The test program
//! is its own launcher.

use std::io::Write;
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
    trials.extend(match support() {
        Support::None(why) => ignored("commands", confined(), &why.to_string()),
        Support::Full => confined(),
    });
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Marks the trials of a group as ignored, because the kernel lacks what they need: a run without
/// them must not look complete. If `WATERLINE_LANDLOCK` is set, adds a trial that fails.
pub(crate) fn ignored(group: &str, trials: Vec<Trial>, why: &str) -> Vec<Trial> {
    drop(writeln!(std::io::stderr(), "{} trials are skipped: {why}", trials.len()));
    let mut trials: Vec<Trial> =
        trials.into_iter().map(|trial| trial.with_ignored_flag(true)).collect();
    if std::env::var_os("WATERLINE_LANDLOCK").is_some() {
        let name = format!("{group}::kernel_has_what_they_need");
        let missing = format!("{why}; WATERLINE_LANDLOCK is set");
        trials.push(Trial::test(name, move || Err(missing.into())));
    }
    trials
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

/// Returns whether commands run in bash; without it they run in the system's own shell.
#[allow(dead_code, reason = "the trials of the agent's tools need no bash")]
pub(crate) fn has_bash() -> bool {
    std::path::Path::new("/bin/bash").exists()
}
