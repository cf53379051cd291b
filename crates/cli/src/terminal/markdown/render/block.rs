//! Blocks: quotes, list items, code blocks and tables.

use std::ops::Range;

use super::{Line, Renderer, first_line};
use crate::show::DIM;
use crate::show::rows::{Row, Span, Text, columns};
use crate::terminal::markdown::languages::Language;

/// Fences are not shown, so code is indented.
pub(super) const CODE_INDENT: &str = "  ";

/// The deepest nesting of quotes and lists that is drawn.
const MAX_DEPTH: usize = 16;

/// A block that contains the line.
pub(super) enum Container {
    Quote,
    /// A list item, with the width of its marker.
    Item(usize),
}

/// A code block.
pub(super) struct Code {
    /// The opening fence; `None` if the block is indented.
    pub(super) fence: Option<Fence>,
    pub(super) language: Option<&'static Language>,
}

/// The opening fence of a code block.
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    pub(super) fn of(opening: &str) -> Option<Self> {
        let mark = opening.chars().next()?;
        Some(Self { mark, length: opening.chars().take_while(|c| *c == mark).count() })
    }

    /// Whether a line is the closing fence.
    pub(super) fn closes(&self, line: &str) -> bool {
        let bare = line.trim_start_matches([' ', '>']).trim_end();
        bare.len() >= self.length && bare.chars().all(|c| c == self.mark)
    }
}

impl Renderer<'_> {
    /// Shows the language instead of the opening fence; without one, the line is left out unless
    /// it is the last one so far, or starts a quote or an item.
    pub(super) fn fence_line(&mut self, info: &str, range: &Range<usize>) {
        let is_first = self.line.is_some();
        let is_last = self.line_of(range.start) + 1 == self.starts.len();
        match info.split_whitespace().next() {
            Some(name) => self.push(&format!("{CODE_INDENT}{name}"), DIM),
            None if is_last => self.push(first_line(self.slice(range)).trim(), DIM),
            None if is_first => {}
            None => self.cover(self.lines.len() + 1),
        }
    }

    pub(super) fn end_code(&mut self, range: &Range<usize>) {
        if let Some(Code { fence: Some(fence), .. }) = self.code.take()
            && let Some((_, last)) = self.slice(range).trim_end().rsplit_once('\n')
            && fence.closes(last)
        {
            // The closing fence is not shown.
            self.go_to(self.end_of(range) - 1);
            self.line = None;
            self.cover(self.end_of(range));
        }
    }

    pub(super) fn end_table(&mut self, range: &Range<usize>) {
        let Some(table) = self.table.take() else { return };
        self.go_to_start(range);
        // If it does not fit, its lines are shown unchanged.
        let Some(table_rows) = table.rows(self.limit.saturating_sub(columns(&self.prefix())))
        else {
            return;
        };
        let Text { mut prefix, hang, .. } = self.line.take().unwrap_or_else(|| self.empty_line());
        let mut rows = Vec::with_capacity(table_rows.len());
        for row in table_rows {
            let mut whole = Row::of(&std::mem::replace(&mut prefix, hang.clone()));
            whole.append(row);
            rows.push(whole);
        }
        self.lines.push(Line::Rows(rows));
        self.cover(self.end_of(range));
    }

    /// Starts a quote or an item on the current line.
    pub(super) fn enter(&mut self, container: Container, first: Span, other: Span) {
        self.open();
        if self.containers.len() < MAX_DEPTH {
            let line = self.open();
            line.prefix.push(first);
            line.hang.push(other);
        }
        self.containers.push(container);
    }

    /// Returns the prefix of a line that continues the containers.
    pub(super) fn prefix(&self) -> Vec<Span> {
        let span = |container: &Container| match container {
            Container::Quote => Span::new(DIM, "│ "),
            Container::Item(width) => Span::plain(" ".repeat(*width)),
        };
        self.containers.iter().take(MAX_DEPTH).map(span).collect()
    }

    /// Returns a line with only the prefix of its containers.
    pub(super) fn empty_line(&self) -> Text {
        Text { prefix: self.prefix(), hang: self.prefix(), ..Text::default() }
    }
}

/// Returns the marker of a list item as it is shown.
pub(super) fn marker(item: &str) -> String {
    let marker = item.trim_start().split([' ', '\n']).next().unwrap_or_default();
    if marker.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{marker} ")
    } else {
        "• ".to_owned()
    }
}
