//! Reading, writing and listing files of a workspace. All of it blocks.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, DirEntry, File, OpenOptions};

use super::Workspace;
use crate::tool::Failure;

/// Larger files are not read at once.
pub const FILE_BYTES: u64 = 10_000_000;

/// How many files were written, for names that nobody else has.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A text file.
#[derive(Debug)]
pub struct Text {
    /// Its words; bytes that are no text are marked.
    pub text: String,
    /// Whether there were such bytes.
    pub lossy: bool,
}

impl Workspace {
    /// The bytes of a file.
    ///
    /// # Errors
    /// When it is not there, not a file, outside, or too large.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let place = self.place(path)?;
        let file = open(place.dir, &place.path).map_err(|error| self.explain(path, &error))?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(Failure::new(format!("{path} is a folder; list_files shows what is in it")));
        }
        if !metadata.is_file() {
            return Err(Failure::new(format!("{path} is not a plain file")));
        }
        if metadata.len() > FILE_BYTES {
            return Err(Failure::new(format!(
                "{path} has {} bytes, more than the {FILE_BYTES} that are read at once; take a part of it with run_bash_command",
                metadata.len()
            )));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A file as text.
    ///
    /// # Errors
    /// As for its bytes; also when it is no text at all.
    pub fn read_text(&self, path: &str) -> Result<Text, Failure> {
        let bytes = self.read(path)?;
        if bytes.iter().take(8_000).any(|&byte| byte == 0) {
            return Err(Failure::new(format!("{path} is not a text ({} bytes)", bytes.len())));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Text { text, lossy: false }),
            Err(error) => Ok(Text { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), lossy: true }),
        }
    }

    /// Writes a file whole, or not at all; its folders are made. Says whether it is new.
    ///
    /// # Errors
    /// When it is outside, may only be read, or there is no room.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, Failure> {
        let place = self.place(path)?.to_write()?;
        let explain = |error: std::io::Error| self.explain(path, &error);
        let name = place.path.file_name().ok_or_else(|| Failure::new(format!("{path} names no file")))?;
        let parent = place.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        place.dir.create_dir_all(parent).map_err(explain)?;
        let folder = place.dir.open_dir(parent).map_err(explain)?;
        let known = folder.symlink_metadata(name).ok();
        if known.as_ref().is_some_and(cap_std::fs::Metadata::is_dir) {
            return Err(Failure::new(format!("{path} is a folder")));
        }
        if known.as_ref().is_some_and(cap_std::fs::Metadata::is_symlink) {
            // Where a link leads inside, the file it leads to is meant; where it leads outside, the kernel refuses.
            let mut file = open_with(place.dir, &place.path, OpenOptions::new().write(true)).map_err(explain)?;
            if !file.metadata()?.is_file() {
                return Err(Failure::new(format!("{path} is not a plain file")));
            }
            file.set_len(0)?;
            file.write_all(bytes)?;
            return Ok(false);
        }
        // Several agents may write the same file at once.
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".waterline-{}-{number}", std::process::id());
        let written = (|| {
            let mut file = folder.create(&temporary)?;
            file.write_all(bytes)?;
            if let Some(known) = &known {
                file.set_permissions(known.permissions())?;
            }
            file.sync_data()?;
            folder.rename(&temporary, &folder, name)
        })();
        if let Err(error) = written {
            drop(folder.remove_file(&temporary));
            return Err(explain(error));
        }
        Ok(known.is_none())
    }

    /// The entries of a folder, by name.
    ///
    /// # Errors
    /// When it is not there, no folder, or outside.
    pub fn entries(&self, path: &str) -> Result<Vec<DirEntry>, Failure> {
        let place = self.place(path)?;
        let folder = place.dir.read_dir(&place.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotADirectory => Failure::new(format!("{path} is a file; read_file reads it")),
            _ => self.explain(path, &error),
        })?;
        let mut entries: Vec<DirEntry> = folder.filter_map(Result::ok).collect();
        entries.sort_by_key(DirEntry::file_name);
        Ok(entries)
    }
}

/// Opens a file to read it.
pub(crate) fn open(dir: &Dir, path: &Path) -> std::io::Result<File> {
    open_with(dir, path, OpenOptions::new().read(true))
}

/// Opens a file. A pipe must not keep whoever opens it waiting.
fn open_with(dir: &Dir, path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    dir.open_with(path, options)
}
