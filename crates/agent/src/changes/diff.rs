//! The difference that a call makes to one file, for people and for programs.

use std::time::{Duration, Instant};

use serde::Serialize;
use similar::{Algorithm, ChangeTag, capture_diff_slices_deadline, group_diff_ops};
use waterline_sandbox::workspace::{FILE_BYTES, FileAt, Workspace};

use super::FileWrite;

/// The unchanged lines around a change.
const CONTEXT: usize = 3;

/// A diff that takes longer is approximated.
const DEADLINE: Duration = Duration::from_millis(200);

/// The longest diff of an event.
const MAX_LINES: usize = 20_000;
const MAX_BYTES: usize = 2_000_000;

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiffKind {
    /// There was no file.
    Created,
    /// The file has other content.
    Changed,
    /// The file is removed.
    Deleted,
}

/// The change of one file as a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileDiff {
    /// The path, as the call wrote it, or relative to the working directory if it is inside.
    pub path: String,
    /// What happens to the file.
    pub kind: DiffKind,
    /// Number of added lines.
    pub added: usize,
    /// Number of removed lines.
    pub removed: usize,
    /// The hunks of a unified diff, without the lines that name the files. Empty if the file is
    /// binary or too large.
    pub diff: String,
    /// Number of lines that are left out at the end of `diff`.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl FileDiff {
    /// Compares the contents of a file; `None` is a file that does not exist.
    #[must_use]
    pub fn new(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let kind = match (old, new) {
            (None, _) => DiffKind::Created,
            (_, None) => DiffKind::Deleted,
            _ => DiffKind::Changed,
        };
        let mut diff = Self::unknown(path, kind);
        if let (Some(old), Some(new)) = (text(old), text(new)) {
            diff.compare(old, new);
        }
        diff
    }

    /// Returns the change that a call would make to a file; `None` if it cannot be shown. Blocks.
    pub(crate) fn of_planned(workspace: &Workspace, planned: &FileWrite) -> Option<Self> {
        let real = workspace.resolve(&planned.path).ok()?;
        let found = workspace.file_at(&real.display().to_string(), FILE_BYTES).ok()?;
        Self::of_write(&planned.path, &found, &planned.bytes)
    }

    /// Returns the change of a file that is overwritten; `None` if its content is unknown.
    pub(super) fn of_write(path: &str, found: &FileAt, bytes: &[u8]) -> Option<Self> {
        match found {
            FileAt::Missing => Some(Self::new(path, None, Some(bytes))),
            FileAt::File { bytes: old, .. } => Some(Self::new(path, Some(old), Some(bytes))),
            FileAt::Large { .. } | FileAt::Other => None,
        }
    }

    /// Returns the change of a file whose content is unknown.
    pub(super) fn unknown(path: &str, kind: DiffKind) -> Self {
        Self { path: path.to_owned(), kind, added: 0, removed: 0, diff: String::new(), more: 0 }
    }

    /// Limits the length of the diff.
    pub(super) fn limit(mut self) -> Self {
        let mut bytes = 0;
        let fits = |line: &&str| {
            bytes += line.len();
            bytes <= MAX_BYTES
        };
        let kept: String =
            self.diff.split_inclusive('\n').take(MAX_LINES).take_while(fits).collect();
        if kept.len() < self.diff.len() {
            self.more = self.diff.lines().count() - kept.lines().count();
            self.diff = kept;
        }
        self
    }

    fn compare(&mut self, old: &str, new: &str) {
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let deadline = Some(Instant::now() + DEADLINE);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
        for group in group_diff_ops(ops, CONTEXT) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let range = |start: usize, end: usize| match end - start {
                0 => format!("{start},0"),
                count => format!("{},{count}", start + 1),
            };
            self.diff += &format!(
                "@@ -{} +{} @@\n",
                range(first.old_range().start, last.old_range().end),
                range(first.new_range().start, last.new_range().end)
            );
            for change in group.iter().flat_map(|op| op.iter_changes(&old_lines, &new_lines)) {
                self.line(change.tag(), change.value());
            }
        }
    }

    fn line(&mut self, tag: ChangeTag, line: &str) {
        let mark = match tag {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => {
                self.removed += 1;
                '-'
            }
            ChangeTag::Insert => {
                self.added += 1;
                '+'
            }
        };
        self.diff.push(mark);
        self.diff += line;
        if !line.ends_with('\n') {
            self.diff += "\n\\ No newline at end of file\n";
        }
    }
}

/// Returns a content as text; `None` if it is binary.
fn text(content: Option<&[u8]>) -> Option<&str> {
    let bytes = content.unwrap_or_default();
    if bytes.iter().take(8_000).any(|&byte| byte == 0) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_hunks_and_counts() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\nfour\n5\n6\n7\n8\n9\nten";
        let diff = FileDiff::new("a", Some(old.as_bytes()), Some(new.as_bytes()));
        assert_eq!((diff.kind, diff.added, diff.removed), (DiffKind::Changed, 2, 1));
        assert_eq!(
            diff.diff,
            "@@ -1,9 +1,10 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n 8\n 9\n+ten\n\
             \\ No newline at end of file\n"
        );
    }

    #[test]
    fn a_new_file_is_all_additions_and_a_binary_file_has_no_lines() {
        let diff = FileDiff::new("a", None, Some(b"x\ny\n"));
        assert_eq!((diff.kind, diff.added, diff.removed), (DiffKind::Created, 2, 0));
        assert_eq!(diff.diff, "@@ -0,0 +1,2 @@\n+x\n+y\n");
        let diff = FileDiff::new("a", Some(b"x\ny\n"), None);
        assert_eq!((diff.kind, diff.added, diff.removed), (DiffKind::Deleted, 0, 2));
        let diff = FileDiff::new("a", Some(b"x\0"), Some(b"y\n"));
        assert_eq!((diff.added, diff.diff.as_str()), (0, ""));
    }
}
