//! Reading and replacing the memory file. Several processes and a person with an editor may write
//! it at the same time.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, RenameFlags, flock, renameat_with};

/// The most that is read of a file. A longer file is not a memory.
const MAX_BYTES: u64 = 4_000_000;

/// The name of the file that locks the directory for programs. Editors do not respect it.
const LOCK: &str = ".memory.lock";

/// Opens a regular file. A symbolic link in its place could point to a file that programs execute,
/// and opening a pipe would block.
pub(crate) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Conversations are private, so only the owner may read the file.
    let opened = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(io::Error::from);
    let refused = || {
        let why = format!(
            "memory file {} is not a regular file; move it away to create a new one",
            path.display()
        );
        io::Error::new(io::ErrorKind::InvalidInput, why)
    };
    match opened {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(refused()),
        Err(_) if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) => {
            Err(refused())
        }
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("memory file {}: {error}", path.display())))
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
        let why = format!("memory file {} is larger than 4 MB; shorten it", path.display());
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
pub(crate) fn replace(path: &Path, before: &str, after: &str) -> io::Result<Result<(), String>> {
    let new = path.with_extension("md.new");
    let mut file = open(&new, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
    file.write_all(after.as_bytes())?;
    file.sync_all()?;
    if !path.exists() {
        std::fs::rename(&new, path)?;
        return Ok(Ok(()));
    }
    // The files are swapped, so that what a person saved a moment ago is not lost.
    renameat_with(CWD, &new, CWD, path, RenameFlags::EXCHANGE)?;
    let found = read(&new)?;
    if found == before {
        std::fs::remove_file(&new)?;
        return Ok(Ok(()));
    }
    renameat_with(CWD, &new, CWD, path, RenameFlags::EXCHANGE)?;
    std::fs::remove_file(&new)?;
    Ok(Err(found))
}
