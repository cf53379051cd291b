//! Renders an answer as it streams in, with its Markdown styled and its lines wrapped. Complete
//! blocks are final. The open block is written as it arrives, and if more of it changes rows that
//! are on the screen, these are erased and written again. A table is written when it is complete.
//!
//! This module returns what to write and writes nothing. The output is for a terminal, with the
//! cursor at the start of a line: a writer that strips codes would show rewritten rows twice.

mod highlight;
mod languages;
mod render;
mod table;
#[cfg(test)]
mod tests;

use crate::show::plain;
use crate::show::rows::Row;
use highlight::State;
use render::{Rendered, render};

/// A narrower terminal is treated as if it had this many columns.
pub const NARROWEST: usize = 10;

/// The rows of the screen that are left for the footer.
pub const AROUND: usize = 6;

/// An open block of up to this many bytes is parsed again with every part of the answer; a longer
/// one when it has grown by a sixteenth, so that the work stays proportional to its length.
const ALWAYS_PARSED: usize = 4 * 1024;

/// The size of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// Renders Markdown as it streams in.
pub struct Markdown {
    size: Size,
    /// Whether to write style codes.
    styled: bool,
    /// The text from the first block that may still change, without control characters.
    source: String,
    /// The length of `source` when it was last parsed.
    parsed: usize,
    /// The first line of `source` that can still be rewritten: those before it have scrolled off
    /// the screen or were never on it.
    first: usize,
    /// The rows of `source` on the screen.
    shown: Vec<Shown>,
    /// The column of the cursor.
    column: usize,
    holds_back: bool,
    /// The highlighting state at the start of `source`.
    state: State,
}

/// A row on the screen, with its line of the source.
struct Shown {
    line: usize,
    text: String,
}

impl Markdown {
    /// Creates a renderer. `size` must be the real size of the terminal, because lines are wrapped
    /// to it.
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
            state: State::Code,
        }
    }

    /// Adds more of the answer. Returns what to write to the terminal.
    pub fn push(&mut self, text: &str) -> String {
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.source.push('\n');
            }
            self.source += &plain(&part.replace('\r', "").replace('\t', "    "));
        }
        let mut out = String::new();
        if self.source.len() < ALWAYS_PARSED || self.source.len() > self.parsed + self.parsed / 16 {
            self.show(false, &mut out);
        }
        out
    }

    /// Ends the answer. Returns what to write: the unfinished line or the table. It ends with a
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

    /// Sets the size of the terminal. Returns what to write. A terminal with a new width has
    /// rewrapped its rows, so they can no longer be erased: the unfinished line is written again
    /// below them, and nothing else changes.
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

    /// Returns the column of the cursor.
    pub const fn column(&self) -> usize {
        self.column
    }

    /// Returns whether a table is held back until it is complete.
    pub const fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Returns the number of columns used. The last one stays free: terminals differ in where the
    /// cursor is after it.
    fn limit(&self) -> usize {
        self.size.columns.max(NARROWEST) - 1
    }

    /// Writes what has arrived, the unfinished line only as far as it can still be erased.
    fn show(&mut self, is_whole: bool, out: &mut String) {
        if self.source.is_empty() {
            return;
        }
        let limit = self.limit();
        let rendered = render(&self.source, limit, is_whole, self.state);
        self.parsed = self.source.len();
        self.holds_back = rendered.holds_back;
        let last = rendered.lines.len().saturating_sub(1);
        let mut rows = Vec::new();
        for (number, line) in rendered.lines.iter().enumerate().skip(self.first) {
            let max_rows = if number == last && !is_whole { reach(self.size) } else { usize::MAX };
            rows.extend(line.rows(limit).into_iter().take(max_rows).map(|row| (number, row)));
        }
        self.draw(&rows, out);
        self.keep_reachable();
        self.drop_complete(&rendered);
    }

    /// Replaces the rows from the first line on.
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

    /// Drops the lines whose rows the cursor can no longer reach.
    fn keep_reachable(&mut self) {
        let Some(oldest) =
            self.shown.len().checked_sub(reach(self.size)).filter(|beyond| *beyond > 0)
        else {
            return;
        };
        let Some(dropped) = self.shown.get(oldest.saturating_sub(1)).map(|row| row.line) else {
            return;
        };
        let last = self.shown.last().map_or(0, |row| row.line);
        self.first = (dropped + 1).min(last);
        self.shown.retain(|row| row.line >= self.first);
    }

    /// Drops the text of complete blocks.
    fn drop_complete(&mut self, rendered: &Rendered) {
        let complete = rendered.complete;
        if complete == 0 {
            return;
        }
        let rest = self.source.split('\n').skip(complete).collect::<Vec<_>>().join("\n");
        // The opening fence of a code block is kept, so that the rest is still parsed as code.
        let opening = usize::from(rendered.opening.is_some());
        self.source =
            rendered.opening.as_ref().map(|opening| format!("{opening}\n")).unwrap_or_default()
                + &rest;
        self.state = if opening == 1 { rendered.state } else { State::default() };
        self.parsed = self.source.len();
        self.first = self.first.max(complete) - complete + opening;
        self.shown.retain(|row| row.line >= complete);
        self.shown.iter_mut().for_each(|row| row.line = row.line - complete + opening);
    }
}

/// Returns the number of rows that the cursor can return to.
fn reach(size: Size) -> usize {
    size.rows.saturating_sub(AROUND).max(1)
}
