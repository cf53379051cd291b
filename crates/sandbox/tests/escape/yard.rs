//! A workspace, and beside it what nobody was given.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;
use waterline_sandbox::{Grant, Workspace};

/// What stands in the files outside.
pub(crate) const SECRET: &str = "the-vault-opens-at-4711";

/// The folders of a yard. `spare` is for what a trial needs outside; nobody looks at it afterwards.
const FOLDERS: [&str; 6] =
    ["ws/uploads", "ws/temp", "outside/deep", "granted", "granted-evil", "spare"];

/// A workspace `ws` with a note in it, a folder `granted` that can be granted, and what lies
/// outside of both.
pub(crate) struct Yard {
    _folder: TempDir,
    path: PathBuf,
    before: Vec<String>,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        FOLDERS.iter().for_each(|name| std::fs::create_dir_all(path.join(name)).unwrap());
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
        let mut yard = Self { _folder: folder, path, before: Vec::new() };
        yard.before = yard.picture();
        yard
    }

    /// Fails when anything outside is not as it was.
    pub(crate) fn check(&self) {
        assert_eq!(self.before, self.picture(), "something outside was changed or made");
    }

    fn picture(&self) -> Vec<String> {
        let mut lines: Vec<String> = names(&self.path);
        look(&self.path.join("outside"), &mut lines);
        look(&self.path.join("granted-evil"), &mut lines);
        lines
    }

    /// The workspace's folder.
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

    /// The file outside, as a path that is written.
    pub(crate) fn secret(&self) -> String {
        self.outside("secret.txt").display().to_string()
    }

    /// A grant of a folder of the yard; `how` is nothing or `:ro`.
    pub(crate) fn grant(&self, name: &str, how: &str) -> Grant {
        format!("{}{how}", self.path.join(name).display()).parse().unwrap()
    }

    pub(crate) fn workspace(&self, grants: &[Grant]) -> Workspace {
        Workspace::open(&self.ws(), "s", grants).unwrap()
    }

    /// Puts a link into the workspace.
    pub(crate) fn link(&self, name: &str, to: impl AsRef<Path>) {
        symlink(to, self.inside(name)).unwrap();
    }
}

/// Makes a pipe that has a name.
pub(crate) fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What comes of work that must not hang; nothing where it does.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(work()));
    told.recv_timeout(Duration::from_secs(5)).ok()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Everything about a path and what is below it, but when it was read.
fn look(path: &Path, lines: &mut Vec<String>) {
    let data = std::fs::symlink_metadata(path).unwrap();
    let bytes = if data.is_file() { std::fs::read(path) } else { Ok(Vec::new()) };
    let bytes = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (mode, owner, modified) =
        (data.mode(), (data.uid(), data.gid()), (data.mtime(), data.mtime_nsec()));
    lines.push(format!("{} {mode:o} {owner:?} {modified:?} {bytes:?}", path.display()));
    if data.is_dir() {
        names(path).iter().for_each(|name| look(&path.join(name), lines));
    }
}
