//! An answer as it streams in, with its markdown styled and its lines wrapped. Blocks that are
//! complete stay as they were written; the open block is written as it comes, and where more of it
//! changes what is there, the rows in question are taken back and written again. A table is written
//! when it is whole.
//!
//! Says what is to be written and writes nothing. It is for a terminal, with the cursor at the
//! start of a line: behind a writer that strips codes, every row that is taken back would be there
//! twice.

mod render;
mod table;
#[cfg(test)]
mod tests;

use anstyle::Style;

use crate::show::plain;
use crate::show::rows::{Row, Span, wrap};
use render::{Rendered, render};

/// A text of the program's own in one style, wrapped.
pub fn wrapped(text: &str, style: Style, size: Size) -> String {
    let limit = size.columns.max(NARROWEST) - 1;
    let broken = |line: &str| wrap(vec![Span::new(style, plain(line))], limit);
    let rows = text.split('\n').flat_map(|line| broken(&line.replace('\t', "    ")));
    rows.map(|row| row.text(true)).collect::<Vec<_>>().join("\n")
}

/// A narrower terminal is treated as one of so many columns.
pub const NARROWEST: usize = 10;

/// Rows of the screen that are left to what stands around an answer.
pub const AROUND: usize = 6;

/// An open block of up to so many bytes is parsed again with every part of the answer; a longer one
/// when it has grown by a sixteenth, so that the work stays proportional to its length.
const PARSED_AT_ONCE: usize = 4 * 1024;

/// The terminal that something is shown on.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// Shows markdown as it streams in.
pub struct Markdown {
    size: Size,
    /// Whether codes for styles are wanted.
    styled: bool,
    /// The text from the first block on that may still change, without what could steer the
    /// terminal.
    source: String,
    /// How much of it was parsed.
    parsed: usize,
    /// The first line of it that can still be written anew: those before have left the screen or
    /// were never on it.
    first: usize,
    /// Its rows on the screen, and the column to which they brought the cursor.
    shown: Vec<Shown>,
    column: usize,
    holds_back: bool,
}

/// A row on the screen, and the line of the source that it belongs to.
struct Shown {
    line: usize,
    text: String,
}

impl Markdown {
    /// For a terminal of its true size, which tells where a line goes on in the next row.
    pub const fn new(size: Size, styled: bool) -> Self {
        Self {
            size,
            styled,
            source: String::new(),
            parsed: 0,
            first: 0,
            shown: Vec::new(),
            column: 0,
            holds_back: false,
        }
    }

    /// What is to be written to the terminal for more of the answer.
    pub fn push(&mut self, text: &str) -> String {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.source.push('\n');
            }
            self.source += &plain(&part.replace('\r', "").replace('\t', "    "));
        }
        let mut out = String::new();
        if self.source.len() < PARSED_AT_ONCE || self.source.len() > self.parsed + self.parsed / 16
        {
            self.show(false, &mut out);
        }
        out
    }

    /// What is to be written at the end: the line that is not finished, or the table. Ends with a
    /// line break if anything was written. Another answer can follow.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.show(true, &mut out);
        if self.column > 0 {
            out.push('\n');
        }
        *self = Self::new(self.size, self.styled);
        out
    }

    /// What is to be written when the terminal may have another size now. A terminal that was made
    /// wider or narrower has broken its rows anew, so what is there cannot be taken back any more:
    /// the unfinished line is written once more, below it. What it had before stays, and nothing
    /// else is touched.
    pub fn resize(&mut self, size: Size) -> String {
        let is_same = size.columns == self.size.columns && self.shown.len() <= reach(size);
        self.size = size;
        let mut out = String::new();
        if is_same || self.shown.is_empty() {
            return out;
        }
        if self.column > 0 {
            out.push('\n');
        }
        self.first = self.shown.last().map_or(0, |row| row.line);
        self.shown.clear();
        self.column = 0;
        self.show(false, &mut out);
        out
    }

    /// Where the cursor stands in its row.
    pub const fn column(&self) -> usize {
        self.column
    }

    /// Whether something waits for its end before it is written.
    pub const fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// The columns that are written to. Not the last one: with the cursor behind it, terminals
    /// differ.
    fn limit(&self) -> usize {
        self.size.columns.max(NARROWEST) - 1
    }

    /// Writes what has come, the unfinished line only as far as it can still be taken back.
    fn show(&mut self, is_whole: bool, out: &mut String) {
        if self.source.is_empty() {
            return;
        }
        let limit = self.limit();
        let rendered = render(&self.source, limit, is_whole);
        self.parsed = self.source.len();
        self.holds_back = rendered.holds_back;
        let last = rendered.lines.len().saturating_sub(1);
        let mut rows = Vec::new();
        for (number, line) in rendered.lines.iter().enumerate().skip(self.first) {
            let most = if number == last && !is_whole { reach(self.size) } else { usize::MAX };
            rows.extend(line.rows(limit).into_iter().take(most).map(|row| (number, row)));
        }
        self.draw(&rows, out);
        self.keep_reachable();
        self.settle(&rendered);
    }

    /// Makes the rows from the first line on be these.
    fn draw(&mut self, rows: &[(usize, Row)], out: &mut String) {
        let new: Vec<String> = rows.iter().map(|(_, row)| row.text(self.styled)).collect();
        let same = self.shown.iter().zip(&new).take_while(|(old, new)| old.text == **new).count();
        // The row of the cursor is continued if it only grows.
        let last = self.shown.len().saturating_sub(1);
        let grown = new.get(last).and_then(|new| match self.shown.last() {
            Some(old) => new.strip_prefix(old.text.as_str()),
            None => Some(new),
        });
        if let Some(more) = grown.filter(|_| same >= last) {
            *out += more;
            new.iter().skip(last + 1).for_each(|row| *out += &format!("\n{row}"));
        } else {
            let from = same.min(new.len().saturating_sub(1));
            if last > from {
                *out += &format!("\x1b[{}A", last - from);
            }
            if !self.shown.is_empty() {
                *out += "\r\x1b[J";
            }
            *out += &new.get(from..).unwrap_or_default().join("\n");
        }
        self.column = rows.last().map_or(0, |(_, row)| row.width());
        self.shown =
            rows.iter().zip(new).map(|((line, _), text)| Shown { line: *line, text }).collect();
    }

    /// Gives up the lines whose rows the cursor cannot be brought back to.
    fn keep_reachable(&mut self) {
        let Some(oldest) =
            self.shown.len().checked_sub(reach(self.size)).filter(|beyond| *beyond > 0)
        else {
            return;
        };
        let Some(cut) = self.shown.get(oldest.saturating_sub(1)).map(|row| row.line) else {
            return;
        };
        let last = self.shown.last().map_or(0, |row| row.line);
        self.first = (cut + 1).min(last);
        self.shown.retain(|row| row.line >= self.first);
    }

    /// Drops the text of blocks that are complete.
    fn settle(&mut self, rendered: &Rendered) {
        let settled = rendered.settled;
        if settled == 0 {
            return;
        }
        let rest = self.source.split('\n').skip(settled).collect::<Vec<_>>().join("\n");
        // The line that opened a code block tells what the lines in it are.
        let opening = usize::from(rendered.opening.is_some());
        self.source =
            rendered.opening.as_ref().map(|opening| format!("{opening}\n")).unwrap_or_default()
                + &rest;
        self.parsed = self.source.len();
        self.first = self.first.max(settled) - settled + opening;
        self.shown.retain(|row| row.line >= settled);
        self.shown.iter_mut().for_each(|row| row.line = row.line - settled + opening);
    }
}

/// The rows that can be taken back.
fn reach(size: Size) -> usize {
    size.rows.saturating_sub(AROUND).max(1)
}
