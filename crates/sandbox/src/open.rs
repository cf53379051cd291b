//! Opens files through a directory handle.

use std::path::Path;

use cap_std::fs::{Dir, File, OpenOptions};

/// Opens a file for reading. The path cannot lead out of the directory, and opening a named pipe
/// does not block.
///
/// # Errors
/// When the file does not exist, may not be read, or is outside the directory.
pub fn open_in(dir: &Dir, path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    dir.open_with(path, &options)
}
