//! Commands, and the files they reach.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Trial;
use waterline_sandbox::{CommandOutput, Rules, Shell};

use crate::yard::{SECRET, Yard};

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["commands":
        a_file_outside_is_not_read,
        a_folder_outside_is_not_listed,
        nothing_is_made_or_changed_outside,
        nothing_is_removed_or_moved_outside,
        nothing_is_made_in_folders_that_everybody_may_write,
        the_environment_has_nothing_but_what_is_given,
        the_environment_of_the_program_is_not_read,
        a_link_made_by_a_command_does_not_lead_out,
        a_hard_link_does_not_bring_a_file_in,
        nothing_is_mounted_and_no_other_root_helps,
        a_device_is_not_made,
        a_folder_granted_to_read_is_not_changed,
        a_granted_folder_that_became_a_link_grants_nothing,
        a_program_outside_is_not_run,
        a_file_that_the_program_holds_is_not_handed_on,
        a_file_that_the_program_was_started_with_is_not_handed_on,
        files_in_the_workspace_are_made_changed_and_removed,
        pipes_and_here_documents_and_substitutions_work,
        exit_codes_come_through,
        both_outputs_are_heard_in_order,
    ];
    if Path::new("/etc/shadow").exists() {
        trials.extend(trials!["commands": the_passwords_of_the_system_are_not_read]);
    }
    if Path::new("/etc/ssl/private").exists() {
        trials.extend(trials!["commands": the_private_keys_of_the_system_are_not_read]);
    }
    trials
}

/// Commands are started through this program itself. `$OUT` is the folder outside.
pub(crate) fn shell(yard: &Yard) -> Shell {
    let variables = [
        ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
        ("LC_ALL", "C".to_owned()),
        ("HOME", yard.ws().display().to_string()),
        ("TMPDIR", yard.inside("temp").display().to_string()),
        ("OUT", yard.outside("").display().to_string().trim_end_matches('/').to_owned()),
    ];
    let mut shell = Shell::new();
    shell.environment = variables.map(|(name, value)| (name.to_owned(), value)).into();
    shell.timeout = Duration::from_secs(20);
    shell
}

pub(crate) fn rules(yard: &Yard) -> Rules {
    Rules { write: vec![yard.ws()], read: Vec::new(), network: false }
}

pub(crate) fn run_by(
    yard: &Yard,
    rules: &Rules,
    text: &str,
    time: Option<Duration>,
) -> CommandOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(shell(yard).run(rules, &yard.ws(), text, time)).unwrap();
    // What could not be ended must not keep the trial from saying so.
    runtime.shutdown_background();
    assert!(!ended.output.contains(SECRET), "{text}: {}", ended.output);
    ended
}

pub(crate) fn run(yard: &Yard, text: &str) -> CommandOutput {
    run_by(yard, &rules(yard), text, None)
}

/// What a command says that must go well.
#[track_caller]
pub(crate) fn works_by(yard: &Yard, rules: &Rules, text: &str) -> String {
    let ended = run_by(yard, rules, text, None);
    assert!(ended.status.is_some_and(|status| status.success()), "{text} failed: {ended:?}");
    ended.output
}

#[track_caller]
pub(crate) fn works(yard: &Yard, text: &str) -> String {
    works_by(yard, &rules(yard), text)
}

/// What a command says that must fail, but come to its end.
#[track_caller]
pub(crate) fn fails_by(yard: &Yard, rules: &Rules, text: &str) -> String {
    let ended = run_by(yard, rules, text, None);
    assert!(ended.status.is_some_and(|status| !status.success()), "{text} did not fail: {ended:?}");
    ended.output
}

#[track_caller]
pub(crate) fn fails(yard: &Yard, text: &str) -> String {
    fails_by(yard, &rules(yard), text)
}

fn a_file_outside_is_not_read(yard: &Yard) {
    for text in [
        r#"cat "$OUT/secret.txt""#,
        "cat ../outside/secret.txt",
        r#"head -c 9 < "$OUT/secret.txt""#,
        r#"cp "$OUT/secret.txt" mine.txt"#,
        r#"dd if="$OUT/secret.txt""#,
        r#"tar -cf - "$OUT""#,
        r#"grep -r vault "$OUT""#,
        r#"cat "/proc/self/root$OUT/secret.txt""#,
        r#"cat "/proc/$PPID/root$OUT/secret.txt""#,
        r#"cd "$OUT/deep" && cat ../secret.txt"#,
    ] {
        fails(yard, text);
    }
    assert_eq!(works(yard, "cat note.txt; cd uploads; head -c 6 < ../note.txt"), "inside\ninside");
}

fn a_folder_outside_is_not_listed(yard: &Yard) {
    for text in [
        r#"ls "$OUT""#,
        "ls ..",
        "ls /",
        "ls /proc",
        "cd .. && ls",
        r#"cd "$OUT" && ls"#,
        r#"find "$OUT" -name 's*'"#,
        r#"du -a "$OUT""#,
    ] {
        let said = fails(yard, text);
        assert!(!said.contains("secret.txt") && !said.contains("granted"), "{text}: {said}");
    }
    let said = works(yard, r#"echo "$OUT"/s* ../*"#);
    assert!(!said.contains("secret.txt") && !said.contains("granted"), "{said}");
    assert_eq!(works(yard, "ls; echo n*"), "note.txt\ntemp\nuploads\nnote.txt\n");
}

fn nothing_is_made_or_changed_outside(yard: &Yard) {
    for text in [
        r#"echo mine > "$OUT/new.txt""#,
        r#"echo mine > "$OUT/secret.txt""#,
        r#"echo mine >> "$OUT/secret.txt""#,
        r#"echo mine | tee -a "$OUT/secret.txt" > /dev/null"#,
        r#"echo mine | dd of="$OUT/secret.txt" conv=notrunc"#,
        r#"cp note.txt "$OUT/new.txt""#,
        r#"mv note.txt "$OUT/""#,
        r#"mkdir "$OUT/new""#,
        r#"mkfifo "$OUT/new""#,
        r#"ln -s /etc "$OUT/new""#,
        "echo mine > ../new.txt",
        "echo mine > /etc/waterline-escape",
    ] {
        fails(yard, text);
    }
    assert_eq!(works(yard, "cat note.txt; echo mine > new.txt; cat new.txt"), "inside\nmine\n");
}

fn nothing_is_removed_or_moved_outside(yard: &Yard) {
    for text in [
        r#"rm -f "$OUT/secret.txt""#,
        r#"rm -rf "$OUT""#,
        r#"find "$OUT/secret.txt" -delete"#,
        r#"mv "$OUT/secret.txt" mine.txt"#,
        r#"mv "$OUT" mine"#,
        r#"mv "$OUT/secret.txt" "$OUT/public.txt""#,
        r#"ln -sf /etc/passwd "$OUT/secret.txt""#,
        r#": > "$OUT/secret.txt""#,
        r#"truncate -s 0 "$OUT/secret.txt""#,
        r#"perl -e 'truncate($ARGV[0], 0) or die "$!\n"' "$OUT/secret.txt""#,
    ] {
        fails(yard, text);
    }
    assert_eq!(
        works(yard, "mv note.txt other.txt; truncate -s 2 other.txt; cat other.txt; rm other.txt"),
        "in"
    );
}

fn nothing_is_made_in_folders_that_everybody_may_write(yard: &Yard) {
    let name = format!("waterline-escape-{}", std::process::id());
    for folder in [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()] {
        let path = folder.join(&name);
        fails(yard, &format!("echo mine > '{}'", path.display()));
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(works(yard, r#"f=$(mktemp) && echo mine > "$f" && cat "$f""#), "mine\n");
}

fn the_environment_has_nothing_but_what_is_given(yard: &Yard) {
    let given: Vec<String> = shell(yard).environment.into_iter().map(|(name, _)| name).collect();
    let said = works(yard, "env");
    for line in said.lines() {
        let name = line.split('=').next().unwrap_or_default();
        let is_bash = ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        assert!(is_bash || given.iter().any(|given| given == name), "{line}");
    }
    assert!(given.iter().all(|name| said.contains(&format!("{name}="))), "{said}");
}

fn the_environment_of_the_program_is_not_read(yard: &Yard) {
    for text in [
        "cat /proc/$PPID/environ",
        "cat /proc/$PPID/cmdline",
        "cat /proc/1/environ",
        "ls /proc/$PPID/fd",
    ] {
        fails(yard, text);
    }
    assert_eq!(works(yard, r#"test "$HOME" = "$PWD" && echo mine"#), "mine\n");
}

fn a_link_made_by_a_command_does_not_lead_out(yard: &Yard) {
    works(
        yard,
        r#"ln -s "$OUT/secret.txt" file; ln -s "$OUT/new.txt" new; ln -s "$OUT" folder; ln -s .. up"#,
    );
    for text in [
        "cat file",
        "echo mine > file",
        "echo mine > new",
        "ls folder/",
        "cat folder/secret.txt",
        "ls up/",
    ] {
        fails(yard, text);
    }
    fails(yard, "rm folder/secret.txt");
    fails(yard, "echo mine > up/outside/new.txt");
    assert_eq!(works(yard, "ln -s note.txt near && echo mine > near && cat note.txt"), "mine\n");
}

fn a_hard_link_does_not_bring_a_file_in(yard: &Yard) {
    fails(yard, r#"ln "$OUT/secret.txt" mine.txt"#);
    fails(yard, r#"ln note.txt "$OUT/mine.txt""#);
    assert!(!yard.inside("mine.txt").exists());
    assert_eq!(works(yard, "ln note.txt second.txt && cat second.txt"), "inside\n");
}

fn nothing_is_mounted_and_no_other_root_helps(yard: &Yard) {
    assert_eq!(works(yard, "mkdir m && cp note.txt m/ && cat m/note.txt"), "inside\n");
    for text in [
        r#"mount --bind "$OUT" m"#,
        "mount -t tmpfs none m",
        r#"unshare -m --propagation unchanged mount --bind "$OUT" m"#,
        r#"unshare -rm mount --bind "$OUT" m"#,
        r#"unshare -U cat "$OUT/secret.txt""#,
        r#"nsenter -t $PPID -m cat "$OUT/secret.txt""#,
        r#"chroot / cat "$OUT/secret.txt""#,
        "pivot_root . m",
    ] {
        fails(yard, text);
    }
    assert_eq!(works(yard, "ls m"), "note.txt\n");
}

fn a_device_is_not_made(yard: &Yard) {
    fails(yard, "mknod temp/disk b 8 0");
    fails(yard, "mknod temp/memory c 1 1");
    fails(yard, "head -c 1 /dev/mem");
    assert_eq!(
        works(yard, "mkfifo temp/p; echo through > temp/p & cat temp/p; echo gone > /dev/null"),
        "through\n"
    );
}

fn a_folder_granted_to_read_is_not_changed(yard: &Yard) {
    let rules = Rules { read: vec![yard.granted("")], ..rules(yard) };
    for text in [
        "echo mine > g.txt",
        "echo mine > new.txt",
        "rm -f g.txt",
        "mv g.txt h.txt",
        "mkdir new",
        "ln -s x y",
    ] {
        fails_by(yard, &rules, &format!("cd ../granted && {text}"));
    }
    fails_by(yard, &rules, "cat ../granted-evil/e.txt");
    assert_eq!(works_by(yard, &rules, "cat ../granted/g.txt; ls ../granted"), "granted\ng.txt\n");
    let rules = Rules { write: vec![yard.ws(), yard.granted("")], ..rules };
    assert_eq!(
        works_by(yard, &rules, "mv note.txt ../granted/ && cat ../granted/note.txt"),
        "inside\n"
    );
}

/// Rules are held against paths anew for each command, and an earlier one may have changed what is
/// there.
fn a_granted_folder_that_became_a_link_grants_nothing(yard: &Yard) {
    std::fs::create_dir(yard.inside("bin")).unwrap();
    let nested = Rules { read: vec![yard.inside("bin")], ..rules(yard) };
    works_by(yard, &nested, r#"rmdir bin && ln -s "$OUT" bin"#);
    fails_by(yard, &nested, "cat bin/secret.txt");
    let nested = Rules { write: vec![yard.ws(), yard.inside("bin")], ..rules(yard) };
    fails_by(yard, &nested, "echo mine > bin/new.txt");
    assert_eq!(
        nested.without_nested(),
        rules(yard),
        "what lies in a folder that may be changed needs no rule"
    );
    assert_eq!(works(yard, "cat note.txt"), "inside\n");
}

fn a_program_outside_is_not_run(yard: &Yard) {
    for text in
        [r#""$OUT/tool""#, r#"PATH="$OUT:$PATH"; tool"#, r#"bash "$OUT/tool""#, r#". "$OUT/tool""#]
    {
        let said = fails(yard, text);
        assert!(!said.lines().any(|line| line == "ran"), "{text}: {said}");
    }
    let rules = Rules { read: vec![yard.outside("tool")], ..rules(yard) };
    assert_eq!(works_by(yard, &rules, r#"PATH="$OUT:$PATH"; tool"#), "ran\n");
    assert_eq!(works(yard, r"printf '#!/bin/sh\necho own\n' > own; chmod +x own; ./own"), "own\n");
}

fn a_file_that_the_program_holds_is_not_handed_on(yard: &Yard) {
    let held = File::open(yard.outside("secret.txt")).unwrap();
    fails(yard, &format!("cat <&{}", held.as_raw_fd()));
    assert_eq!(works(yard, "exec 7< note.txt; cat <&7"), "inside\n");
}

/// Whoever starts the program may leave files open in it, for example a lock.
fn a_file_that_the_program_was_started_with_is_not_handed_on(yard: &Yard) {
    let held = File::open(yard.outside("secret.txt")).unwrap();
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
    fails(yard, &format!("cat <&{}", held.as_raw_fd()));
    assert_eq!(works(yard, "exec 7< note.txt; cat <&7"), "inside\n");
}

fn the_passwords_of_the_system_are_not_read(yard: &Yard) {
    let said = fails(yard, "cat /etc/shadow");
    assert!(!said.contains("root:"), "{said}");
    assert!(works(yard, "cat /etc/passwd").contains("root:"));
}

/// Whoever works as root may read them, but not a command.
fn the_private_keys_of_the_system_are_not_read(yard: &Yard) {
    fails(yard, "ls /etc/ssl/private");
    works(yard, "ls /etc/ssl/certs");
}

fn files_in_the_workspace_are_made_changed_and_removed(yard: &Yard) {
    let made = "mkdir -p a/b && echo one > a/b/f && echo two >> a/b/f && sed -i s/one/1/ a/b/f && mv a/b c && cat c/f";
    assert_eq!(works(yard, made), "1\ntwo\n");
    assert_eq!(works(yard, "rm -r a c && ls"), "note.txt\ntemp\nuploads\n");
    assert_eq!(
        works(yard, "cp note.txt temp/n && chmod +x temp/n && test -x temp/n && stat -c %s temp/n"),
        "7\n"
    );
}

fn pipes_and_here_documents_and_substitutions_work(yard: &Yard) {
    assert_eq!(works(yard, "cat <<END | tr a-z A-Z\nhere\nEND\n"), "HERE\n");
    assert_eq!(
        works(yard, "diff <(echo same) <(echo same) && cat <(echo one) <(echo two)"),
        "one\ntwo\n"
    );
    assert_eq!(
        works(yard, r#"wc -c <<< "$(head -c 200000 /dev/zero | tr '\0' x)""#).trim(),
        "200001"
    );
    assert_eq!(
        works(yard, "yes | head -1; echo ${PIPESTATUS[0]}; echo both > /dev/stderr"),
        "y\n141\nboth\n"
    );
}

fn exit_codes_come_through(yard: &Yard) {
    use std::os::unix::process::ExitStatusExt;
    let code = |text: &str| run(yard, text).status.and_then(|status| status.code());
    assert_eq!(
        [code("true"), code("exit 7"), code("no-such-program")],
        [Some(0), Some(7), Some(127)]
    );
    assert_eq!(run(yard, "kill -KILL $$").status.and_then(|status| status.signal()), Some(9));
}

fn both_outputs_are_heard_in_order(yard: &Yard) {
    assert_eq!(works(yard, "echo a; echo b >&2; echo c; echo d >&2"), "a\nb\nc\nd\n");
}
