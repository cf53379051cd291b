//! Going through a folder, file by file, without leaving it. Links are not followed.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::Failure;
use crate::workspace::Workspace;

/// More files than this are not looked at.
const FILES: usize = 50_000;

/// Folders that hold nothing a person wrote.
const SKIPPED: [&str; 3] = [".git", "node_modules", "__pycache__"];

/// Visits the files below a path, by name: the folder's handle, the file's name in it, and its path from where it began. Says
/// whether it saw them all.
pub(super) fn walk(
    workspace: &Workspace,
    path: &str,
    mut visit: impl FnMut(&Dir, &Path, &Path) -> bool,
) -> Result<bool, Failure> {
    let place = workspace.place(path)?;
    let dir = place.dir.open_dir(&place.path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::new(format!("{path} does not exist")),
        std::io::ErrorKind::NotADirectory => Failure::new(format!("{path} is not a folder")),
        _ => Failure::new(format!("{path}: {error}")),
    })?;
    let mut left = FILES;
    Ok(below(&dir, &PathBuf::new(), &mut left, &mut visit))
}

fn below(dir: &Dir, at: &Path, left: &mut usize, visit: &mut impl FnMut(&Dir, &Path, &Path) -> bool) -> bool {
    let Ok(entries) = dir.entries() else { return true };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(cap_std::fs::DirEntry::file_name);
    for entry in entries {
        let name = PathBuf::from(entry.file_name());
        let path = at.join(&name);
        let Ok(kind) = entry.file_type() else { continue };
        let goes_on = if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == Path::new(skipped)) {
            entry.open_dir().map_or(true, |inner| below(&inner, &path, left, visit))
        } else if kind.is_file() {
            *left = left.saturating_sub(1);
            *left > 0 && visit(dir, &name, &path)
        } else {
            true
        };
        if !goes_on {
            return false;
        }
    }
    true
}
