//! Full disks, read-only files and locked files.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use waterline_log::{Log, LogError, Options, Session};

use crate::writer::{TASK, command, filled, message, texts};

fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(str::to_owned).collect()
}

/// A file size limit makes a write fail halfway, as a broken disk would.
pub(crate) fn no_writes_are_accepted_after_a_failed_write() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 2000; trap '' XFSZ; exec \"$0\""])
        .arg(program)
        .env(TASK, format!("until-it-fails {}", file.display()))
        .output()
        .unwrap();
    let [count, error, again, stored] = lines(&output).try_into().unwrap();
    assert!(
        error.contains("no more writes are accepted") && error.contains("check the disk"),
        "{error}"
    );
    assert!(again.contains("no more writes are accepted"), "{again}");
    assert_eq!(stored, count, "every acknowledged append can be read");
    let log = Log::open(&file.display().to_string()).unwrap();
    assert_eq!(texts(&log, "s").unwrap().len().to_string(), count);
    assert_eq!(log.verify(|_, _| ()).unwrap().problems, []);
}

/// Runs a command with a two-megabyte disk mounted in a private mount namespace.
fn on_a_small_disk(directory: &Path, then: &str) -> Option<Output> {
    let script = format!("mount -t tmpfs -o size=2m none {} && {then}", directory.display());
    Command::new("unshare").args(["-rm", "sh", "-c", &script]).output().ok()
}

pub(crate) fn can_mount() -> bool {
    tempfile::tempdir().is_ok_and(|directory| {
        on_a_small_disk(directory.path(), "true").is_some_and(|output| output.status.success())
    })
}

pub(crate) fn a_full_disk_is_reported_and_survived() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let program = std::env::current_exe().unwrap();
    // Removing the ballast at the end frees space: then the same log accepts writes again.
    let then = format!(
        "head -c 300000 /dev/zero > {0}/ballast; {TASK}='until-it-fails {1}' {2}; rm {0}/ballast; \
         {TASK}='read-and-write {1} s' {2}",
        directory.path().display(),
        file.display(),
        program.display()
    );
    let output = on_a_small_disk(directory.path(), &then).unwrap();
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    let [count, error, again, stored, later, more] = all.lines().collect::<Vec<_>>()[..] else {
        panic!("{output:?}")
    };
    assert!(error.contains("no space left") && error.contains("free some space"), "{error}");
    assert!(again.contains("no space left") || again == "written", "{again}");
    assert!(stored == count || again == "written", "{all}");
    assert!(count.parse::<usize>().unwrap() > 10, "{all}");
    assert_eq!((later, more), (stored, "written"), "with free space, writes succeed again");
}

pub(crate) fn a_read_only_file_opens_for_reading() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    drop(filled(&file, 1, 5));
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    set(&file, 0o444);
    set(directory.path(), 0o555);
    let mut child = command(&format!("read-and-write {} s0", file.display()));
    if std::fs::metadata(directory.path()).unwrap().uid() == 0 {
        // Root ignores permissions: run a copy of this program as another user.
        let shared = tempfile::tempdir().unwrap().keep();
        set(&shared, 0o755);
        let copy = shared.join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        child = Command::new(&copy);
        child.env(TASK, format!("read-and-write {} s0", file.display())).uid(65_534).gid(65_534);
    }
    let output = child.output().unwrap();
    set(directory.path(), 0o755);
    let [count, error] = lines(&output).try_into().unwrap();
    assert_eq!(count, "5");
    assert!(error.contains("is read-only") && error.contains("write permission"), "{error}");
}

pub(crate) fn a_locked_file_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db").display().to_string();
    let options = Options::default().with_wait(Duration::from_millis(100));
    let log = Log::open_with(&file, &options).unwrap();
    let tip = log.create(Session::new("s")).unwrap().tip;
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = log.append("s", tip, vec![message("x")]);
    assert!(matches!(refused, Err(LogError::Locked { .. })), "{refused:?}");
    // Reading works meanwhile, also through a new log. Writing works once the lock is released.
    assert_eq!(texts(&log, "s").unwrap().len(), 0);
    assert_eq!(texts(&Log::open_with(&file, &options).unwrap(), "s").unwrap().len(), 0);
    other.execute_batch("ROLLBACK").unwrap();
    log.append("s", tip, vec![message("x")]).unwrap();
}

pub(crate) fn a_deleted_file_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("log.db");
    let log = Log::open(&file.display().to_string()).unwrap();
    let tip = log.create(Session::new("s")).unwrap().tip;
    std::fs::remove_file(&file).unwrap();
    let lost = log.append("s", tip, vec![message("x")]);
    assert!(matches!(lost, Err(LogError::Deleted { .. })), "{lost:?}");
    let refused = log.append("s", tip, vec![message("x")]);
    assert!(refused.is_err(), "no more writes are accepted");
}

pub(crate) fn a_fifo_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("fifo");
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let refused = Log::open(&file.display().to_string()).unwrap_err();
    assert!(matches!(refused, LogError::Open { .. }), "{refused}");
    assert!(refused.to_string().contains("regular file"), "{refused}");
}
