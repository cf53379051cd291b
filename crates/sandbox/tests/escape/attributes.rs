//! The mode, owner and times of files outside: the kernel lets an owner change them without opening
//! the file. These trials need a mount namespace whose mounts can be made read-only.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libtest_mimic::Trial;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use waterline_sandbox::{Rules, Shell};

use crate::commands::{fails, fails_with, rules, works, works_with};
use crate::harness::ignored;
use crate::protected::guarded;
use crate::yard::Yard;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["attributes":
        mode_of_files_outside_cannot_be_changed,
        owner_of_files_outside_cannot_be_changed,
        times_of_files_outside_cannot_be_changed,
        attributes_of_readable_files_cannot_be_changed,
        own_attributes_can_be_changed,
        files_move_between_writable_directories,
        a_kernel_that_keeps_mounts_writable_is_recognized,
    ];
    if Path::new("/usr/bin/npm").exists() {
        trials.extend(trials!["attributes": packages_of_npm_can_be_installed]);
    }
    match Shell::new().has_mount_namespace() {
        true => trials,
        false => ignored("attributes", trials, "the kernel allows no read-only mounts"),
    }
}

/// The owner of the files is the user who runs the command.
fn mode_of_files_outside_cannot_be_changed(yard: &Yard) {
    let key = yard.outside("secret.txt");
    let mode = || std::fs::metadata(&key).unwrap().permissions().mode() & 0o777;
    let before = mode();
    for text in [
        r#"chmod 600 "$OUT/secret.txt""#,
        r#"chmod a+rwx "$OUT/secret.txt""#,
        "chmod 777 ../outside",
        r#"chmod -R 777 "$OUT""#,
        r#"ln -s "$OUT/secret.txt" link && chmod 777 link"#,
        r#"cd "$OUT" && chmod 777 secret.txt"#,
        "chmod 777 ..",
    ] {
        let output = fails(yard, text);
        assert!(output.contains("Read-only file system"), "{text}: {output}");
        assert_eq!(mode(), before, "{text}");
    }
}

fn owner_of_files_outside_cannot_be_changed(yard: &Yard) {
    for text in [
        r#"chown "$(id -u):$(id -g)" "$OUT/secret.txt""#,
        r#"chgrp "$(id -g)" "$OUT/deep""#,
        r#"ln -s "$OUT/secret.txt" link && chown -h "$(id -u)" "$OUT/tool""#,
    ] {
        let output = fails(yard, text);
        assert!(output.contains("Read-only file system"), "{text}: {output}");
    }
}

fn times_of_files_outside_cannot_be_changed(yard: &Yard) {
    for text in [
        r#"touch -d 2001-01-01 "$OUT/secret.txt""#,
        r#"touch -a "$OUT/secret.txt""#,
        r#"touch -m "$OUT""#,
        r#"touch -h -d 2001-01-01 "$OUT/tool""#,
        r#"touch -c "$OUT/secret.txt""#,
    ] {
        fails(yard, text);
    }
    if Path::new("/usr/bin/perl").exists() {
        let text = r#"perl -e 'utime(1, 1, $ARGV[0]) or die "$!\n"' "$OUT/secret.txt""#;
        assert_eq!(fails(yard, text), "Read-only file system\n");
    }
}

/// An open file is enough to change them.
fn attributes_of_readable_files_cannot_be_changed(yard: &Yard) {
    let rules = Rules { read: vec![yard.granted("")], ..rules(yard) };
    let mode = || std::fs::metadata(yard.granted("g.txt")).unwrap().permissions().mode();
    let before = mode();
    fails_with(yard, &rules, "chmod 600 ../granted/g.txt");
    fails_with(yard, &rules, "touch -d 2001-01-01 ../granted/g.txt");
    if Path::new("/usr/bin/perl").exists() {
        let open = "open(F, q(<), q(../granted/g.txt)) or exit 0;";
        for change in ["chmod(0600, *F)", "utime(1, 1, *F)", "chown($<, $( + 0, *F)"] {
            let text = format!("perl -e '{open} {change} or die qq($!\\n)'");
            assert_eq!(fails_with(yard, &rules, &text), "Read-only file system\n", "{change}");
        }
    }
    assert_eq!(mode(), before);
    assert_eq!(works_with(yard, &rules, "cat ../granted/g.txt"), "granted\n");
}

fn own_attributes_can_be_changed(yard: &Yard) {
    let text = "chmod 640 note.txt && touch -d 2001-01-01 note.txt && cp -p note.txt temp/a && \
                chgrp $(id -g) temp/a && stat -c '%a %y' temp/a | cut -c 1-14";
    assert_eq!(works(yard, text), "640 2001-01-01\n");
    let text =
        format!("cd ../granted && {}", text.replace("note.txt", "g.txt").replace("temp/", ""));
    assert_eq!(works_with(yard, &guarded(yard), &text), "640 2001-01-01\n");
    assert_eq!(works(yard, "echo x > /dev/null && echo y > temp/b && cat temp/b"), "y\n");
}

/// Each of them is a mount of its own.
fn files_move_between_writable_directories(yard: &Yard) {
    let text = "mkdir -p d/e && echo 1 > d/e/f && mv d ../granted/ && cat ../granted/d/e/f && \
                mv ../granted/d/e/f . && cat f && test ! -e d";
    assert_eq!(works_with(yard, &guarded(yard), text), "1\n1\n");
}

/// The user is asked about commands that change attributes if the kernel does not refuse them.
fn a_kernel_that_keeps_mounts_writable_is_recognized(yard: &Yard) {
    assert_eq!(works(yard, "cat note.txt"), "inside\n");
    // A filter applies to a thread and to what it starts.
    let has_namespace = std::thread::spawn(|| {
        refuse_remounts();
        Shell::new().has_mount_namespace()
    });
    assert!(!has_namespace.join().unwrap());
}

/// Makes the kernel refuse to change the flags of mounts for this thread.
fn refuse_remounts() {
    let is_remount = SeccompCmpOp::MaskedEq(libc::MS_REMOUNT);
    let flags = SeccompCondition::new(3, SeccompCmpArgLen::Dword, is_remount, libc::MS_REMOUNT);
    let rules = [(libc::SYS_mount, vec![SeccompRule::new(vec![flags.unwrap()]).unwrap()])];
    let refusal = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into().unwrap();
    let filter =
        SeccompFilter::new(rules.into(), SeccompAction::Allow, refusal, architecture).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

fn packages_of_npm_can_be_installed(yard: &Yard) {
    let text = r#"mkdir -p lib app && cd lib && npm init -y > /dev/null && echo 'module.exports = 7' > index.js &&
        cd ../app && npm init -y > /dev/null && npm install --offline --no-audit --no-fund ../lib > /dev/null &&
        node -e 'console.log(require("lib"))'"#;
    assert_eq!(works(yard, text), "7\n");
}
