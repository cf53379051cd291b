//! Renames and restores protected paths. No link in a path is followed: a command may have put one
//! there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, renameat, statat, symlinkat,
};
use rustix::io::{Errno, Result};

use super::find::make_accessible;

/// What is appended to the name of a protected path that a command created.
const BLOCKED_SUFFIX: &str = ".blocked";

/// Maximum number of names that are tried for a blocked path.
const MAX_NAMES: usize = 1_000;

/// Renames a path so that no program recognizes it, and returns the new path. Nothing is lost: it
/// may be the user's own.
pub(super) fn rename_blocked(path: &Path) -> Option<PathBuf> {
    let (parent, name) = parent_of(path).ok()?;
    let candidate = |number: usize| {
        let mut name = OsString::from(name);
        name.push(BLOCKED_SUFFIX);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        name
    };
    let is_free = |name: &OsString| {
        statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).err() == Some(Errno::NOENT)
    };
    let free = (1..=MAX_NAMES).map(candidate).find(is_free)?;
    let rename = || renameat(&parent, name, &parent, &free);
    match rename() {
        Err(Errno::ACCESS) => {
            // The command may have made the directory read-only.
            make_accessible(path.parent()?).ok()?;
            rename().ok()?;
        }
        renamed => renamed.ok()?,
    }
    Some(path.with_file_name(free))
}

/// Creates a symbolic link, and the directories above it. No link above it is followed.
pub(super) fn link(path: &Path, target: &Path) -> Result<()> {
    let (parent, name) = made_parent_of(path)?;
    symlinkat(target, &parent, name)
}

/// Creates a file that does not exist yet, and the directories above it. No link above it is
/// followed.
pub(super) fn file(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    let (parent, name) = made_parent_of(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut file = File::from(openat(&parent, name, flags, Mode::from_raw_mode(mode))?);
    file.write_all(bytes)
}

pub(super) fn parent_of(path: &Path) -> Result<(OwnedFd, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok((openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?, name))
}

/// Opens the directory of a path, and creates it if it is missing.
pub(super) fn made_parent_of(path: &Path) -> Result<(OwnedFd, &OsStr)> {
    let parent = parent_of(path);
    let Some(directory) = path.parent().filter(|_| parent.as_ref().err() == Some(&Errno::NOENT))
    else {
        return parent;
    };
    let (above, name) = made_parent_of(directory)?;
    mkdirat(&above, name, Mode::from_raw_mode(0o755))?;
    parent_of(path)
}
