//! Copies directories into a workspace. Links are skipped: their targets are not part of the
//! directory.

use std::path::Path;

use super::{FILE, Workspace};

/// The limits of one copy.
const MAX_BYTES: u64 = 200_000_000;
const MAX_FILES: usize = 20_000;

/// How much may still be copied.
struct Remaining {
    bytes: u64,
    files: usize,
}

impl Workspace {
    /// Copies everything from another workspace, for a forked session.
    pub fn copy_from(&self, source: &Path) {
        self.copy_into("", source);
    }

    /// Copies the contents of a directory to `to` in the workspace. Files that cannot be copied are
    /// skipped and logged as warnings.
    pub fn copy_into(&self, to: &str, source: &Path) {
        let mut remaining = Remaining { bytes: MAX_BYTES, files: MAX_FILES };
        for (path, why) in self.copy(source, to, &mut remaining) {
            tracing::warn!(target: "waterline::workspace", %path, %why, "file not copied");
        }
    }

    /// Copies a file's mode, so that scripts stay executable.
    fn copy_mode(&self, inside: &str, metadata: &std::fs::Metadata) {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o777;
        if let Ok(location) = self.location(inside) {
            let permissions =
                cap_std::fs::Permissions::from_std(std::fs::Permissions::from_mode(mode));
            drop(location.dir.set_permissions(&location.path, permissions));
        }
    }

    /// Copies through the workspace's handles, so no link can lead out of it. Returns the skipped
    /// paths, each with the reason.
    fn copy(&self, from: &Path, to: &str, remaining: &mut Remaining) -> Vec<(String, String)> {
        let entries = match std::fs::read_dir(from) {
            Ok(entries) => entries,
            Err(error) => return vec![(to.to_owned(), error.to_string())],
        };
        let mut skipped = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let inside = if to.is_empty() { name } else { format!("{to}/{name}") };
            match std::fs::symlink_metadata(entry.path()) {
                Ok(metadata) if metadata.is_dir() => {
                    skipped.extend(self.copy(&entry.path(), &inside, remaining))
                }
                Ok(metadata) if metadata.is_file() && inside != FILE => {
                    if let Err(why) = self.copy_file(&entry.path(), &inside, &metadata, remaining) {
                        skipped.push((inside, why));
                    }
                }
                Ok(_) => {}
                Err(error) => skipped.push((inside, error.to_string())),
            }
        }
        skipped
    }

    fn copy_file(
        &self,
        from: &Path,
        inside: &str,
        metadata: &std::fs::Metadata,
        remaining: &mut Remaining,
    ) -> Result<(), String> {
        let bytes_left = remaining.bytes.checked_sub(metadata.len());
        let files_left = remaining.files.checked_sub(1);
        let (Some(bytes_left), Some(files_left)) = (bytes_left, files_left) else {
            return Err("the copy limit is reached".to_owned());
        };
        *remaining = Remaining { bytes: bytes_left, files: files_left };
        let bytes = std::fs::read(from).map_err(|error| error.to_string())?;
        self.write(inside, &bytes).map_err(|error| error.to_string())?;
        self.copy_mode(inside, metadata);
        Ok(())
    }
}
