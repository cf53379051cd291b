//! Which files commands can access.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Trial;
use waterline_sandbox::{CommandOutput, Rules, Shell, Toolchains};

use crate::yard::{SECRET, Yard};

/// The Python of the system.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = trials!["commands":
        files_outside_cannot_be_read,
        directories_outside_cannot_be_listed,
        files_outside_cannot_be_created_or_changed,
        files_outside_cannot_be_removed_or_moved,
        world_writable_directories_are_closed,
        environment_holds_only_the_given_variables,
        host_environment_cannot_be_read,
        link_made_by_a_command_does_not_lead_out,
        hard_link_to_a_file_outside_is_refused,
        mount_chroot_and_namespaces_are_refused,
        device_nodes_cannot_be_created,
        read_only_grant_cannot_be_changed,
        granted_directory_replaced_by_a_link_grants_nothing,
        programs_outside_cannot_be_executed,
        open_files_of_the_host_are_not_inherited,
        files_the_host_inherited_are_closed,
        workspace_files_can_be_created_changed_and_removed,
        pipes_here_documents_and_substitutions_work,
        exit_status_is_reported,
        stdout_and_stderr_keep_their_order,
        release_of_the_system_can_be_read,
    ];
    if Path::new(SYSTEM_PYTHON).exists() {
        trials.extend(trials!["commands": python_environment_can_be_created]);
    }
    if std::env::var_os("HOME").is_some() {
        trials.extend(trials!["commands": toolchains_of_the_user_can_be_run]);
    }
    if Path::new("/etc/shadow").exists() {
        trials.extend(trials!["commands": etc_shadow_cannot_be_read]);
    }
    if Path::new("/etc/ssl/private").exists() {
        trials.extend(trials!["commands": tls_private_keys_cannot_be_read]);
    }
    trials
}

/// A shell whose launcher is this program. `$OUT` is the directory outside.
pub(crate) fn shell(yard: &Yard) -> Shell {
    let variables = [
        ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
        ("LC_ALL", "C".to_owned()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
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
    Rules { write: vec![yard.ws()], ..Rules::default() }
}

pub(crate) fn run_with(
    yard: &Yard,
    rules: &Rules,
    text: &str,
    timeout: Option<Duration>,
) -> CommandOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(shell(yard).run(rules, &yard.ws(), text, timeout)).unwrap();
    // A process that could not be killed must not block the failure report.
    runtime.shutdown_background();
    assert!(!result.output.contains(SECRET), "{text}: {}", result.output);
    result
}

pub(crate) fn run(yard: &Yard, text: &str) -> CommandOutput {
    run_with(yard, &rules(yard), text, None)
}

/// Returns the output of a command that must succeed.
#[track_caller]
pub(crate) fn works_with(yard: &Yard, rules: &Rules, text: &str) -> String {
    let result = run_with(yard, rules, text, None);
    assert!(result.status.is_some_and(|status| status.success()), "{text} failed: {result:?}");
    result.output
}

#[track_caller]
pub(crate) fn works(yard: &Yard, text: &str) -> String {
    works_with(yard, &rules(yard), text)
}

/// Returns the output of a command that must fail without timing out.
#[track_caller]
pub(crate) fn fails_with(yard: &Yard, rules: &Rules, text: &str) -> String {
    let result = run_with(yard, rules, text, None);
    let failed = result.status.is_some_and(|status| !status.success());
    assert!(failed, "{text} did not fail: {result:?}");
    result.output
}

#[track_caller]
pub(crate) fn fails(yard: &Yard, text: &str) -> String {
    fails_with(yard, &rules(yard), text)
}

fn files_outside_cannot_be_read(yard: &Yard) {
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

fn directories_outside_cannot_be_listed(yard: &Yard) {
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
        let output = fails(yard, text);
        assert!(!output.contains("secret.txt") && !output.contains("granted"), "{text}: {output}");
    }
    let output = works(yard, r#"echo "$OUT"/s* ../*"#);
    assert!(!output.contains("secret.txt") && !output.contains("granted"), "{output}");
    assert_eq!(works(yard, "ls; echo n*"), "note.txt\ntemp\nuploads\nnote.txt\n");
}

fn files_outside_cannot_be_created_or_changed(yard: &Yard) {
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

fn files_outside_cannot_be_removed_or_moved(yard: &Yard) {
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

fn world_writable_directories_are_closed(yard: &Yard) {
    let name = format!("waterline-escape-{}", std::process::id());
    for directory in [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()] {
        let path = directory.join(&name);
        fails(yard, &format!("echo mine > '{}'", path.display()));
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(works(yard, r#"f=$(mktemp) && echo mine > "$f" && cat "$f""#), "mine\n");
}

fn environment_holds_only_the_given_variables(yard: &Yard) {
    let given: Vec<String> = shell(yard).environment.into_iter().map(|(name, _)| name).collect();
    let output = works(yard, "env");
    for line in output.lines() {
        let name = line.split('=').next().unwrap_or_default();
        let is_bash = ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        assert!(is_bash || given.iter().any(|given| given == name), "{line}");
    }
    assert!(given.iter().all(|name| output.contains(&format!("{name}="))), "{output}");
}

fn host_environment_cannot_be_read(yard: &Yard) {
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

fn link_made_by_a_command_does_not_lead_out(yard: &Yard) {
    works(
        yard,
        r#"ln -s "$OUT/secret.txt" file; ln -s "$OUT/new.txt" new; ln -s "$OUT" dir; ln -s .. up"#,
    );
    for text in [
        "cat file",
        "echo mine > file",
        "echo mine > new",
        "ls dir/",
        "cat dir/secret.txt",
        "ls up/",
    ] {
        fails(yard, text);
    }
    fails(yard, "rm dir/secret.txt");
    fails(yard, "echo mine > up/outside/new.txt");
    assert_eq!(works(yard, "ln -s note.txt near && echo mine > near && cat note.txt"), "mine\n");
}

fn hard_link_to_a_file_outside_is_refused(yard: &Yard) {
    fails(yard, r#"ln "$OUT/secret.txt" mine.txt"#);
    fails(yard, r#"ln note.txt "$OUT/mine.txt""#);
    assert!(!yard.inside("mine.txt").exists());
    assert_eq!(works(yard, "ln note.txt second.txt && cat second.txt"), "inside\n");
}

fn mount_chroot_and_namespaces_are_refused(yard: &Yard) {
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

fn device_nodes_cannot_be_created(yard: &Yard) {
    fails(yard, "mknod temp/disk b 8 0");
    fails(yard, "mknod temp/memory c 1 1");
    fails(yard, "head -c 1 /dev/mem");
    assert_eq!(
        works(yard, "mkfifo temp/p; echo through > temp/p & cat temp/p; echo gone > /dev/null"),
        "through\n"
    );
}

fn read_only_grant_cannot_be_changed(yard: &Yard) {
    let rules = Rules { read: vec![yard.granted("")], ..rules(yard) };
    for text in [
        "echo mine > g.txt",
        "echo mine > new.txt",
        "rm -f g.txt",
        "mv g.txt h.txt",
        "mkdir new",
        "ln -s x y",
    ] {
        fails_with(yard, &rules, &format!("cd ../granted && {text}"));
    }
    fails_with(yard, &rules, "cat ../granted-evil/e.txt");
    assert_eq!(works_with(yard, &rules, "cat ../granted/g.txt; ls ../granted"), "granted\ng.txt\n");
    let rules = Rules { write: vec![yard.ws(), yard.granted("")], ..rules };
    assert_eq!(
        works_with(yard, &rules, "mv note.txt ../granted/ && cat ../granted/note.txt"),
        "inside\n"
    );
}

/// Rules are resolved again for each command, and an earlier command may have changed the paths.
fn granted_directory_replaced_by_a_link_grants_nothing(yard: &Yard) {
    std::fs::create_dir(yard.inside("bin")).unwrap();
    let nested = Rules { read: vec![yard.inside("bin")], ..rules(yard) };
    works_with(yard, &nested, r#"rmdir bin && ln -s "$OUT" bin"#);
    fails_with(yard, &nested, "cat bin/secret.txt");
    let nested = Rules { write: vec![yard.ws(), yard.inside("bin")], ..rules(yard) };
    fails_with(yard, &nested, "echo mine > bin/new.txt");
    assert_eq!(
        nested.without_nested(),
        rules(yard),
        "a path inside a writable directory needs no rule"
    );
    assert_eq!(works(yard, "cat note.txt"), "inside\n");
}

fn programs_outside_cannot_be_executed(yard: &Yard) {
    for text in
        [r#""$OUT/tool""#, r#"PATH="$OUT:$PATH"; tool"#, r#"bash "$OUT/tool""#, r#". "$OUT/tool""#]
    {
        let output = fails(yard, text);
        assert!(!output.lines().any(|line| line == "ran"), "{text}: {output}");
    }
    let rules = Rules { read: vec![yard.outside("tool")], ..rules(yard) };
    assert_eq!(works_with(yard, &rules, r#"PATH="$OUT:$PATH"; tool"#), "ran\n");
    assert_eq!(works(yard, r"printf '#!/bin/sh\necho own\n' > own; chmod +x own; ./own"), "own\n");
}

fn open_files_of_the_host_are_not_inherited(yard: &Yard) {
    let held = File::open(yard.outside("secret.txt")).unwrap();
    fails(yard, &format!("cat <&{}", held.as_raw_fd()));
    assert_eq!(works(yard, "exec 7< note.txt; cat <&7"), "inside\n");
}

/// The host may have been started with open files, a lock for example.
fn files_the_host_inherited_are_closed(yard: &Yard) {
    let held = File::open(yard.outside("secret.txt")).unwrap();
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
    fails(yard, &format!("cat <&{}", held.as_raw_fd()));
    assert_eq!(works(yard, "exec 7< note.txt; cat <&7"), "inside\n");
}

fn etc_shadow_cannot_be_read(yard: &Yard) {
    let output = fails(yard, "cat /etc/shadow");
    assert!(!output.contains("root:"), "{output}");
    assert!(works(yard, "cat /etc/passwd").contains("root:"));
}

/// Commands cannot read them even if the tests run as root.
fn tls_private_keys_cannot_be_read(yard: &Yard) {
    fails(yard, "ls /etc/ssl/private");
    works(yard, "ls /etc/ssl/certs");
}

fn workspace_files_can_be_created_changed_and_removed(yard: &Yard) {
    let text = "mkdir -p a/b && echo one > a/b/f && echo two >> a/b/f && \
                sed -i s/one/1/ a/b/f && mv a/b c && cat c/f";
    assert_eq!(works(yard, text), "1\ntwo\n");
    assert_eq!(works(yard, "rm -r a c && ls"), "note.txt\ntemp\nuploads\n");
    assert_eq!(
        works(yard, "cp note.txt temp/n && chmod +x temp/n && test -x temp/n && stat -c %s temp/n"),
        "7\n"
    );
}

fn pipes_here_documents_and_substitutions_work(yard: &Yard) {
    assert_eq!(works(yard, "cat <<END | tr a-z A-Z\nhere\nEND\n"), "HERE\n");
    if !crate::harness::has_bash() {
        return;
    }
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

fn exit_status_is_reported(yard: &Yard) {
    use std::os::unix::process::ExitStatusExt;
    let code = |text: &str| run(yard, text).status.and_then(|status| status.code());
    assert_eq!(
        [code("true"), code("exit 7"), code("no-such-program")],
        [Some(0), Some(7), Some(127)]
    );
    assert_eq!(run(yard, "kill -KILL $$").status.and_then(|status| status.signal()), Some(9));
}

/// Toolchains are often installed below the home directory. Those that this machine has must run.
fn toolchains_of_the_user_can_be_run(yard: &Yard) {
    let home = std::env::var("HOME").unwrap();
    let found = Toolchains::find(Path::new(&home), |name| std::env::var(name).ok());
    found.link_packages(&yard.ws(), true);
    let mut shell = shell(yard);
    shell.environment.extend(found.variables.iter().chain(&found.offline_variables).cloned());
    let path = format!("{home}/.cargo/bin:{home}/.pyenv/shims:/usr/bin:/bin");
    shell.environment.push(("PATH".to_owned(), path));
    let mut rules = rules(yard);
    rules.read.extend(found.read.clone());
    let run = |text: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(shell.run(&rules, &yard.ws(), text, None)).unwrap()
    };
    let has = |name: &str| Path::new(&home).join(name).exists();
    let programs = [
        (".cargo/bin/cargo", "cargo --version && cargo new --vcs none p && cd p && cargo build"),
        (".cargo/bin/rustc", "rustc --version"),
        (".pyenv/shims/python3", "python3 -c 'import ssl, sqlite3; print(1 + 1)'"),
    ];
    for (_, text) in programs.iter().filter(|(program, _)| has(program)) {
        let result = run(text);
        assert!(result.status.is_some_and(|status| status.success()), "{text}: {result:?}");
    }
    for name in [".cargo/credentials.toml", ".netrc", ".config", ".ssh"] {
        let result = run(&format!("ls '{home}/{name}' && cat '{home}/{name}'"));
        assert!(!result.status.unwrap().success(), "{name}: {result:?}");
    }
}

fn stdout_and_stderr_keep_their_order(yard: &Yard) {
    assert_eq!(works(yard, "echo a; echo b >&2; echo c; echo d >&2"), "a\nb\nc\nd\n");
}

/// Programs such as pip and lsb_release read these files and fail if they cannot.
fn release_of_the_system_can_be_read(yard: &Yard) {
    let names = ["os-release", "lsb-release", "debian_version", "redhat-release", "alpine-release"];
    let found = names.iter().map(|name| Path::new("/etc").join(name)).filter(|path| path.exists());
    for path in found {
        works(yard, &format!("cat '{}'", path.display()));
    }
}

/// It installs pip, as far as the system has what it needs for that.
fn python_environment_can_be_created(yard: &Yard) {
    let text = format!("{SYSTEM_PYTHON} -m venv temp/v && temp/v/bin/python -m pip --version");
    let outside = std::process::Command::new("/bin/sh")
        .args(["-c", &text])
        .current_dir(yard.spare(""))
        .output()
        .unwrap();
    if outside.status.success() {
        let result = run_with(yard, &rules(yard), &text, Some(Duration::from_secs(120)));
        assert!(result.status.is_some_and(|status| status.success()), "{result:?}");
    }
}
