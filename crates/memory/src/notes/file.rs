//! Reading and replacing the memory file. Several processes and a person with an editor may write
//! it at the same time.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with};

/// Maximum number of bytes that are read of a file. A longer file is not a memory.
const MAX_BYTES: u64 = 4_000_000;

/// The name of the file that locks the directory for programs. Editors do not respect it.
const LOCK: &str = ".memory.lock";

/// Why a file of the memory was not read or replaced. It comes in an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is a link, a directory, a pipe or a device.
    #[error("memory file {} is not a regular file; move it away to create a new one", .0.display())]
    NotRegular(PathBuf),
    /// It is too large to be a memory.
    #[error("memory file {} is larger than {} MB; shorten it", .0.display(), MAX_BYTES / 1_000_000)]
    TooLarge(PathBuf),
    /// Another program replaced it again and again.
    #[error("another program keeps changing {}; try again later", .0.display())]
    Busy(PathBuf),
    /// The operating system reports an error.
    #[error("memory file {}: {error}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error that the operating system reports.
        error: io::Error,
    },
}

/// Returns the beginning of the name of a file that is being swapped with another one. The hashes
/// of the old and of the new content follow.
fn swap_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    format!(".{}.swap-", stem.to_lowercase())
}

/// Opens a regular file. A symbolic link in its place could point to a file that programs execute,
/// and opening a pipe would block.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Conversations are private, so only the owner may read the file.
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(io::Error::from);
    let refused =
        || io::Error::new(io::ErrorKind::InvalidInput, FileError::NotRegular(path.to_owned()));
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(refused()),
        Err(_) if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) => {
            Err(refused())
        }
        Err(error) => {
            Err(io::Error::new(error.kind(), FileError::Io { path: path.to_owned(), error }))
        }
    }
}

/// Reads a file. A missing file is empty.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let file = match open(path, OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = FileError::TooLarge(path.to_owned());
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Locks a directory against other programs of this kind until the result is dropped.
pub(crate) fn lock(directory: &Path) -> io::Result<File> {
    std::fs::create_dir_all(directory)?;
    let file = open(&directory.join(LOCK), OFlags::RDWR | OFlags::CREATE)?;
    flock(file.as_fd(), FlockOperation::LockExclusive)?;
    Ok(file)
}

/// Replaces a file whose content was `before`. Returns what the file has instead if a person saved
/// it in the meantime; then nothing was replaced. The caller holds the lock.
///
/// The files are swapped, so that what a person saves in the last moment is not lost. The name of
/// the swapped file tells the next process what both files had, if this one is killed in between.
pub(crate) fn replace(path: &Path, before: &str, after: &str) -> io::Result<Result<(), String>> {
    let new = path.with_extension("md.new");
    let mut file = open(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
    file.write_all(after.as_bytes())?;
    file.sync_all()?;
    if !path.exists() {
        std::fs::rename(&new, path)?;
        return Ok(Ok(()));
    }
    let now = read(path)?;
    if now != before {
        std::fs::remove_file(&new)?;
        return Ok(Err(now));
    }
    let swap = path.with_file_name(format!("{}{}-{}", swap_name(path), hash(before), hash(after)));
    std::fs::rename(&new, &swap)?;
    renameat_with(CWD, &swap, CWD, path, RenameFlags::EXCHANGE)?;
    let found = read(&swap)?;
    if found == before {
        std::fs::remove_file(&swap)?;
        return Ok(Ok(()));
    }
    renameat_with(CWD, &swap, CWD, path, RenameFlags::EXCHANGE)?;
    let back = read(&swap)?;
    if back != after {
        // The person saved once more in between.
        std::fs::rename(&swap, path)?;
        return Ok(Err(back));
    }
    std::fs::remove_file(&swap)?;
    Ok(Err(found))
}

/// Completes what a killed process left half done: if a person's version was swapped out, it comes
/// back. The caller holds the lock.
pub(crate) fn recover(path: &Path) -> io::Result<()> {
    for swap in swaps(path)? {
        let name = swap.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hashes = name.strip_prefix(&swap_name(path)).and_then(|hashes| hashes.split_once('-'));
        let left = hash(&read(&swap)?);
        let is_ours = hashes.is_none_or(|(before, after)| left == before || left == after);
        let now = hash(&read(path)?);
        let was_replaced = hashes.is_some_and(|(_, after)| now == after);
        if !is_ours && was_replaced {
            std::fs::rename(&swap, path)?;
        } else {
            std::fs::remove_file(&swap)?;
        }
    }
    Ok(())
}

/// Returns the files that killed processes left.
pub(crate) fn swaps(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(directory) = path.parent() else { return Ok(Vec::new()) };
    let start = swap_name(path);
    let is_swap = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(&start);
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let swaps = entries.flatten().filter(|entry| is_swap(&entry.file_name()));
    Ok(swaps.map(|entry| entry.path()).collect())
}

/// Returns a short name for a content.
fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves a directory as a killed process does: `file` is in place, `swap` next to it.
    fn killed(file: &str, swap: &str, before: &str, after: &str) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("MEMORY.md");
        std::fs::write(&path, file).unwrap();
        let name = format!("{}{}-{}", swap_name(&path), hash(before), hash(after));
        std::fs::write(directory.path().join(name), swap).unwrap();
        recover(&path).unwrap();
        assert!(swaps(&path).unwrap().is_empty());
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn killed_process_loses_nothing_of_a_person() {
        assert_eq!(killed("old", "new", "old", "new"), "old", "before the swap");
        assert_eq!(killed("new", "old", "old", "new"), "new", "after the swap");
        assert_eq!(killed("new", "theirs", "old", "new"), "theirs", "a version was swapped out");
        assert_eq!(killed("theirs", "new", "old", "new"), "theirs", "and swapped back");
        assert_eq!(killed("newest", "theirs", "old", "new"), "newest", "and saved again");
    }
}
