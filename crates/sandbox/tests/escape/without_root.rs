//! If the tests run as root, those that concern privileges run as an ordinary user too: there a
//! command enters a user namespace.

use std::os::unix::process::CommandExt;
use std::process::Command;

use libtest_mimic::Trial;

use crate::yard::Yard;

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;

/// The groups of trials that are repeated.
const GROUPS: [&str; 3] = ["attributes::", "privileges::", "protected::"];

pub(crate) fn trials() -> Vec<Trial> {
    match rustix::process::getuid().is_root() {
        true => trials!["without_root": trials_pass_for_an_ordinary_user],
        false => Vec::new(),
    }
}

fn trials_pass_for_an_ordinary_user(_: &Yard) {
    // The build directory may be closed to other users.
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("escape");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::os::unix::fs::chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    for group in GROUPS {
        let mut command = Command::new(&program);
        command.arg(group).uid(NOBODY).gid(NOBODY).current_dir(directory.path());
        command.env("HOME", directory.path());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        // Where the kernel allows this user no namespaces, all trials of a group may be ignored.
        let is_empty = text.contains(" 0 passed") && text.contains(" 0 ignored");
        assert!(text.contains(" passed; 0 failed") && !is_empty, "{text}");
    }
}
