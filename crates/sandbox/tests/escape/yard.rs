//! A fixture: a workspace, and directories outside it that must not be accessible.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;
use waterline_sandbox::{Grant, Workspace};

/// The contents of the files outside.
pub(crate) const SECRET: &str = "the-vault-opens-at-4711";

/// The directories of a yard. `spare` is for files that a trial needs outside; it is not checked
/// afterwards.
const DIRECTORIES: [&str; 6] =
    ["ws/uploads", "ws/temp", "outside/deep", "granted", "granted-evil", "spare"];

/// A workspace `ws` with a note in it, a directory `granted` that can be granted, and files outside
/// both.
pub(crate) struct Yard {
    _temp: TempDir,
    path: PathBuf,
    before: Vec<String>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap();
        DIRECTORIES.iter().for_each(|name| std::fs::create_dir_all(path.join(name)).unwrap());
        let write = |name: &str, bytes: &[u8]| std::fs::write(path.join(name), bytes).unwrap();
        write("ws/note.txt", b"inside\n");
        write("granted/g.txt", b"granted\n");
        write("granted-evil/e.txt", SECRET.as_bytes());
        write("outside/secret.txt", SECRET.as_bytes());
        write("outside/deep/hidden.txt", SECRET.as_bytes());
        write("outside/keys.bin", &[0xff, 0, 0xfe, 1]);
        write("outside/tool", b"#!/bin/sh\necho ran\n");
        std::fs::set_permissions(path.join("outside/tool"), PermissionsExt::from_mode(0o755))
            .unwrap();
        let mut yard = Self { _temp: temp, path, before: Vec::new() };
        yard.before = yard.snapshot();
        yard
    }

    /// Fails if anything outside has changed.
    pub(crate) fn check(&self) {
        assert_eq!(self.before, self.snapshot(), "a file outside was changed or created");
    }

    fn snapshot(&self) -> Vec<String> {
        let mut lines: Vec<String> = names(&self.path);
        describe(&self.path.join("outside"), &mut lines);
        describe(&self.path.join("granted-evil"), &mut lines);
        lines
    }

    /// The path of the workspace.
    pub(crate) fn ws(&self) -> PathBuf {
        self.path.join("ws")
    }

    pub(crate) fn inside(&self, name: &str) -> PathBuf {
        self.ws().join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.path.join("outside").join(name)
    }

    pub(crate) fn spare(&self, name: &str) -> PathBuf {
        self.path.join("spare").join(name)
    }

    pub(crate) fn granted(&self, name: &str) -> PathBuf {
        self.path.join("granted").join(name)
    }

    /// The path of the secret file outside.
    pub(crate) fn secret(&self) -> String {
        self.outside("secret.txt").display().to_string()
    }

    /// A grant for a directory of the yard; `suffix` is empty or `:ro`.
    pub(crate) fn grant(&self, name: &str, suffix: &str) -> Grant {
        format!("{}{suffix}", self.path.join(name).display()).parse().unwrap()
    }

    pub(crate) fn workspace(&self, grants: &[Grant]) -> Workspace {
        Workspace::open(&self.ws(), "s", grants).unwrap()
    }

    /// Creates a link in the workspace.
    pub(crate) fn link(&self, name: &str, to: impl AsRef<Path>) {
        symlink(to, self.inside(name)).unwrap();
    }
}

/// Creates a named pipe.
pub(crate) fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Returns the result of work that must not hang, or `None` if it does.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(5)).ok()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Describes a path and everything below it, except access times.
fn describe(path: &Path, lines: &mut Vec<String>) {
    let metadata = std::fs::symlink_metadata(path).unwrap();
    let bytes = if metadata.is_file() { std::fs::read(path) } else { Ok(Vec::new()) };
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mode = metadata.mode();
    let owner = (metadata.uid(), metadata.gid());
    let modified = (metadata.mtime(), metadata.mtime_nsec());
    lines.push(format!("{} {mode:o} {owner:?} {modified:?} {text:?}", path.display()));
    if metadata.is_dir() {
        names(path).iter().for_each(|name| describe(&path.join(name), lines));
    }
}
