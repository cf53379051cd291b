//! Moves what was blocked out of the user's project.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::Blocked;
use super::find::make_accessible;
use super::put_back::{made_parent_of, parent_of};

/// Limits of what is copied to another file system.
const MAX_FILES: usize = 10_000;
const MAX_BYTES: u64 = 100_000_000;

/// Maximum number of names that are tried.
const MAX_NAMES: usize = 1_000;

/// Moves the versions that a command made of protected paths from the guarded directories to
/// another directory, keeping their paths. What cannot be moved stays where it is. No process of
/// the command may be running anymore.
pub(crate) fn set_aside(blocked: &mut [Blocked], guarded: &[PathBuf], directory: &Path) {
    for one in blocked {
        let Some(from) = &one.moved_to else { continue };
        let root = guarded
            .iter()
            .filter(|root| one.path.starts_with(root))
            .max_by_key(|root| root.as_os_str().len());
        let Some(parent) = root.and_then(|root| root.parent()) else { continue };
        let Ok(inside) = one.path.strip_prefix(parent) else { continue };
        match move_to(from, &directory.join(inside)) {
            Ok(to) => one.moved_to = Some(to),
            Err(error) => tracing::warn!(
                target: "waterline::sandbox", path = %from.display(), %error,
                "cannot move a blocked path out of the project"
            ),
        }
    }
}

/// Moves a file or directory to a path, or to one like it that is free, and returns that.
fn move_to(from: &Path, to: &Path) -> Result<PathBuf> {
    let (old, name) = parent_of(from)?;
    let mut free = to.to_owned();
    let mut number = 1;
    loop {
        let (new, new_name) = made_parent_of(&free)?;
        let rename = || renameat_with(&old, name, &new, new_name, RenameFlags::NOREPLACE);
        let mut moved = rename();
        if moved == Err(Errno::ACCESS) {
            // A directory that moves must be writable; the command may have changed that.
            make_accessible(from)?;
            moved = rename();
        }
        match moved {
            Ok(()) => return Ok(free),
            Err(Errno::EXIST | Errno::NOTEMPTY) if number < MAX_NAMES => {}
            Err(Errno::XDEV) => {
                let new = directory(new);
                if new.symlink_metadata(new_name).is_err() {
                    let old = directory(old.try_clone()?);
                    copy_and_remove(&old, name, &new, new_name)?;
                    return Ok(free);
                }
            }
            Err(error) => return Err(error.into()),
        }
        number += 1;
        let mut name = to.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        free = to.with_file_name(name);
    }
}

fn directory(handle: OwnedFd) -> Dir {
    Dir::from_std_file(File::from(handle))
}

fn copy_and_remove(old: &Dir, name: &OsStr, new: &Dir, new_name: &OsStr) -> Result<()> {
    let mut left = Left { files: MAX_FILES, bytes: MAX_BYTES };
    let copied = copy(old, name, new, new_name, &mut left);
    let (directory, name) = if copied.is_ok() { (old, name) } else { (new, new_name) };
    remove(directory, name)?;
    copied
}

fn remove(directory: &Dir, name: &OsStr) -> Result<()> {
    if directory.symlink_metadata(name)?.is_dir() {
        directory.remove_dir_all(name)
    } else {
        directory.remove_file(name)
    }
}

/// How much may still be copied.
struct Left {
    files: usize,
    bytes: u64,
}

/// Copies a file, a link or a directory with everything in it.
fn copy(old: &Dir, name: &OsStr, new: &Dir, new_name: &OsStr, left: &mut Left) -> Result<()> {
    let metadata = old.symlink_metadata(name)?;
    let files = left.files.checked_sub(1);
    let bytes = left.bytes.checked_sub(metadata.len());
    let (Some(files), Some(bytes)) = (files, bytes) else {
        return Err(ErrorKind::FileTooLarge.into());
    };
    *left = Left { files, bytes };
    if metadata.is_symlink() {
        let target = old.read_link_contents(name)?;
        new.symlink_contents(target, new_name)
    } else if metadata.is_dir() {
        new.create_dir(new_name)?;
        let (from, to) = (old.open_dir(name)?, new.open_dir(new_name)?);
        for entry in from.entries()? {
            let entry = entry?.file_name();
            copy(&from, &entry, &to, &entry, left)?;
        }
        Ok(())
    } else if metadata.is_file() {
        old.copy(name, new, new_name).map(|_| ())
    } else {
        Err(Error::from(ErrorKind::Unsupported))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, read_to_string, write};
    use std::os::unix::fs::symlink;

    use super::*;

    fn blocked(path: PathBuf, moved_to: PathBuf) -> Blocked {
        Blocked { path, name: ".husky".to_owned(), moved_to: Some(moved_to) }
    }

    #[test]
    fn blocked_paths_leave_the_project() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let project = top.join("project");
        create_dir_all(project.join("sub")).unwrap();
        let block = |text: &str| {
            create_dir_all(project.join("sub/.husky.blocked")).unwrap();
            write(project.join("sub/.husky.blocked/pre-commit"), text).unwrap();
            [blocked(project.join("sub/.husky"), project.join("sub/.husky.blocked"))]
        };
        let aside = top.join("aside");
        for (text, name) in [("one", ".husky"), ("two", ".husky-2")] {
            let mut found = block(text);
            set_aside(&mut found, &[top.clone(), project.clone()], &aside);
            let expected = aside.join("project/sub").join(name);
            assert_eq!(found[0].moved_to.as_deref(), Some(expected.as_path()));
            assert_eq!(read_to_string(expected.join("pre-commit")).unwrap(), text);
        }
        assert_eq!(std::fs::read_dir(project.join("sub")).unwrap().count(), 0);
        // A link that a command put there does not lead anywhere.
        let mut found = block("three");
        std::fs::rename(&aside, top.join("old")).unwrap();
        symlink(top.join("elsewhere"), &aside).unwrap();
        set_aside(&mut found, std::slice::from_ref(&project), &aside);
        assert_eq!(found[0].moved_to, Some(project.join("sub/.husky.blocked")));
        assert!(!top.join("elsewhere").exists());
    }

    #[test]
    fn blocked_paths_are_copied_to_another_file_system() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        create_dir_all(top.join("old/.git/refs")).unwrap();
        create_dir_all(top.join("new")).unwrap();
        write(top.join("old/.git/HEAD"), "ref").unwrap();
        symlink("/nowhere", top.join("old/.git/refs/link")).unwrap();
        let open = |name: &str| directory(std::fs::File::open(top.join(name)).unwrap().into());
        let (old, new) = (open("old"), open("new"));
        let (from, to) = (OsStr::new(".git"), OsStr::new(".git-2"));
        copy_and_remove(&old, from, &new, to).unwrap();
        assert!(!top.join("old/.git").exists());
        assert_eq!(read_to_string(top.join("new/.git-2/HEAD")).unwrap(), "ref");
        let target = std::fs::read_link(top.join("new/.git-2/refs/link")).unwrap();
        assert_eq!(target, Path::new("/nowhere"));
    }
}
