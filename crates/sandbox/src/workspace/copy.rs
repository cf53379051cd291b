//! Folders that are copied into a workspace. Links are left out: what they lead to is not part of
//! the folder.

use std::path::Path;

use super::{FILE, Workspace};

/// More than this is not copied.
const BYTES: u64 = 200_000_000;
const FILES: usize = 20_000;

impl Workspace {
    /// Copies everything of another workspace: for a session that was forked.
    pub fn copy_from(&self, folder: &Path) {
        self.copy_into("", folder);
    }

    /// Copies what is in a folder to a place in the workspace. What cannot be copied is left out,
    /// and told to whoever listens.
    pub fn copy_into(&self, to: &str, folder: &Path) {
        for (path, why) in self.copy(folder, to, &mut (BYTES, FILES)) {
            tracing::warn!(target: "waterline::workspace", %path, %why, "a file was not copied");
        }
    }

    /// A script that can be run stays one.
    fn keep_mode(&self, inside: &str, metadata: &std::fs::Metadata) {
        use std::os::unix::fs::PermissionsExt;
        let mode = metadata.permissions().mode() & 0o777;
        if let Ok(place) = self.place(inside) {
            let permissions =
                cap_std::fs::Permissions::from_std(std::fs::Permissions::from_mode(mode));
            drop(place.dir.set_permissions(&place.path, permissions));
        }
    }

    /// Written through the workspace, which lets no link lead out of it. Gives what was left out,
    /// with why.
    fn copy(&self, from: &Path, to: &str, left: &mut (u64, usize)) -> Vec<(String, String)> {
        let entries = match std::fs::read_dir(from) {
            Ok(entries) => entries,
            Err(error) => return vec![(to.to_owned(), error.to_string())],
        };
        let mut left_out = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let inside = if to.is_empty() { name } else { format!("{to}/{name}") };
            match std::fs::symlink_metadata(entry.path()) {
                Ok(metadata) if metadata.is_dir() => {
                    left_out.extend(self.copy(&entry.path(), &inside, left))
                }
                Ok(metadata) if metadata.is_file() && inside != FILE => {
                    if let Err(why) = self.copy_file(&entry.path(), &inside, &metadata, left) {
                        left_out.push((inside, why));
                    }
                }
                Ok(_) => {}
                Err(error) => left_out.push((inside, error.to_string())),
            }
        }
        left_out
    }

    fn copy_file(
        &self,
        from: &Path,
        inside: &str,
        metadata: &std::fs::Metadata,
        left: &mut (u64, usize),
    ) -> Result<(), String> {
        let room = (left.0.checked_sub(metadata.len()), left.1.checked_sub(1));
        let (Some(bytes), Some(files)) = room else {
            return Err("there is too much to copy".to_owned());
        };
        *left = (bytes, files);
        let bytes = std::fs::read(from).map_err(|error| error.to_string())?;
        self.write(inside, &bytes).map_err(|error| error.to_string())?;
        self.keep_mode(inside, metadata);
        Ok(())
    }
}
