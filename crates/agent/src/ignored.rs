//! Which files `.gitignore` names.

use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The file with the rules of a directory.
const FILE: &str = ".gitignore";

/// A larger file of rules is not read.
const MAX_BYTES: u64 = 1_000_000;

/// Returns whether the rules of directories ignore a path. Those of the innermost directory come
/// first.
pub(crate) fn is_ignored(rules: &[Arc<Gitignore>], path: &Path, is_directory: bool) -> bool {
    let mut matches = rules.iter().rev().map(|rules| rules.matched(path, is_directory));
    matches.find(|matched| !matched.is_none()).is_some_and(|matched| matched.is_ignore())
}

/// Reads the rules of a directory, whose absolute path is `whole`; `None` if it has none.
pub(crate) fn rules(dir: &Dir, whole: &Path) -> Option<Arc<Gitignore>> {
    let metadata = dir.symlink_metadata(FILE).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    let text = dir.read_to_string(FILE).ok()?;
    let mut builder = GitignoreBuilder::new(whole);
    for line in text.lines() {
        // A line that is not a pattern ignores nothing, as in git.
        drop(builder.add_line(None, line));
    }
    builder.build().ok().map(Arc::new)
}
