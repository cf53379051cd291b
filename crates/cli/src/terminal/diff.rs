//! A line diff with a few lines of context around each change, and diffs of files for display.

use std::time::{Duration, Instant};

use anstyle::Style;
use waterline_agent::changes::{DiffKind, FileDiff};

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::screen::{GREEN, RED, dim};
use crate::show::{DIM, plain, unhidden};

/// The lines shown before and after a change.
const CONTEXT: usize = 2;

/// A diff that takes longer is approximated.
const DEADLINE: Duration = Duration::from_millis(200);

/// The difference between two texts.
pub struct Diff {
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
    rows: String,
}

impl Diff {
    /// Compares two texts line by line. Lines far from any change are left out.
    pub fn new(old: &str, new: &str) -> Self {
        let old_lines = lines(old);
        let new_lines = lines(new);
        let deadline = Some(Instant::now() + DEADLINE);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
        let mut diff = Self { added: 0, removed: 0, rows: String::new() };
        for (at, group) in group_diff_ops(ops, CONTEXT).iter().enumerate() {
            if at > 0 {
                diff.rows += &dim("\n  ⋯");
            }
            for change in
                group.iter().flat_map(|op: &DiffOp| op.iter_changes(&old_lines, &new_lines))
            {
                diff.add(change.tag(), change.value());
            }
        }
        diff
    }

    fn add(&mut self, tag: ChangeTag, line: &str) {
        let (mark, style) = match tag {
            ChangeTag::Equal => (" ", Style::new()),
            ChangeTag::Delete => {
                self.removed += 1;
                ("-", RED)
            }
            ChangeTag::Insert => {
                self.added += 1;
                ("+", GREEN)
            }
        };
        self.rows += &row(&format!("{mark} {line}"), style);
    }

    /// Returns the changed lines with their context, each with a line break before it, with style
    /// codes.
    pub fn rows(&self) -> &str {
        &self.rows
    }
}

/// Splits a text into lines that keep their line breaks, so that a missing one at the end counts as
/// a change.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        lines.push("");
    }
    lines
}

/// Formats the counts of a diff: `+4 −1`, with style codes.
pub fn counts(added: usize, removed: usize) -> String {
    format!("{GREEN}+{added}{GREEN:#} {RED}−{removed}{RED:#}")
}

/// Formats at most `max_lines` lines of a diff with style codes, each with a line break before it.
/// Returns also how many lines are left out.
pub fn rows_of(diff: &FileDiff, max_lines: usize) -> (String, usize) {
    // A new file is one hunk from its first line on.
    let is_shown = |line: &&str| diff.kind != DiffKind::Created || !line.starts_with("@@");
    let lines: Vec<&str> = diff.diff.lines().filter(is_shown).collect();
    let shown = lines.iter().take(max_lines).map(|line| file_row(line)).collect();
    (shown, lines.len().saturating_sub(max_lines) + diff.more)
}

/// Formats a line of a unified diff.
fn file_row(line: &str) -> String {
    let rest = line.get(1..).unwrap_or_default();
    match line.chars().next() {
        Some('+') => row(&format!("+ {rest}"), GREEN),
        Some('-') => row(&format!("- {rest}"), RED),
        Some(' ') => row(&format!("  {rest}"), Style::new()),
        _ => row(line, DIM),
    }
}

/// Formats a line of a file with a line break before it. It is indented, so that it cannot pass for
/// output of the program.
pub fn row(line: &str, style: Style) -> String {
    let shown = plain(&unhidden(&line.trim_end_matches('\n').replace('\t', "    ")));
    format!("\n  {style}{shown}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        anstream::adapter::strip_str(Diff::new(old, new).rows()).to_string()
    }

    #[test]
    fn only_changed_lines_are_marked() {
        assert_eq!(
            shown("a\nlow\nb\n", "a\nhigh\ntide\nb\n"),
            "\n    a\n  - low\n  + high\n  + tide\n    b"
        );
        let diff = Diff::new("a\nlow\nb\n", "a\nhigh\ntide\nb\n");
        assert_eq!([diff.added, diff.removed], [2, 1]);
    }

    #[test]
    fn lines_far_from_a_change_are_left_out() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\nvier\n5\n6\n7\n8\n9\nten\n";
        assert_eq!(
            shown(old, new),
            "\n    2\n    3\n  - 4\n  + vier\n    5\n    6\n  ⋯\n    8\n    9\n  + ten"
        );
    }

    #[test]
    fn the_diff_of_a_file_is_cut_and_the_rest_is_counted() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\nvier\n5\n6\n7\n8\n9\n";
        let diff = FileDiff::new("a", Some(old.as_bytes()), Some(new.as_bytes()));
        let shown = |max| {
            let (rows, more) = rows_of(&diff, max);
            (anstream::adapter::strip_str(&rows).to_string(), more)
        };
        let all = "\n  @@ -1,7 +1,7 @@\n    1\n    2\n    3\n  - 4\n  + vier\n    5\n    6\n    7";
        assert_eq!(shown(99), (all.to_owned(), 0));
        assert_eq!(shown(2), ("\n  @@ -1,7 +1,7 @@\n    1".to_owned(), 7));
        let diff = FileDiff::new("a", None, Some(b"x\ny\x1b[2J\n"));
        let rows = anstream::adapter::strip_str(&rows_of(&diff, 9).0).to_string();
        assert_eq!(rows, "\n  + x\n  + y\u{fffd}[2J");
    }

    #[test]
    fn a_line_break_at_the_end_is_a_change() {
        assert_eq!(shown("a", "a\n"), "\n  - a\n  + a");
        assert_eq!(shown("a\n", "a\n"), "");
    }

    #[test]
    fn hidden_and_control_characters_are_replaced() {
        assert_eq!(shown("a", "a\u{1b}[2J\u{200b}"), "\n  - a\n  + a\u{fffd}[2J\u{fffd}");
    }

    #[test]
    fn large_texts_with_nothing_in_common_are_compared_in_time() {
        let text =
            |from: usize| (from..from + 50_000).map(|n| format!("{n}\n")).collect::<String>();
        assert_eq!(Diff::new(&text(0), &text(100_000)).added, 50_000);
    }
}
