//! The lines of the source: where each starts, and which is being rendered.

use std::ops::Range;

use super::block::Container;
use super::inline::JOINER;
use super::{Line, Renderer, first_line};
use crate::show::plain;
use crate::show::rows::{Break, Span, Text};

impl<'a> Renderer<'a> {
    /// Returns the current line.
    pub(super) fn open(&mut self) -> &mut Text {
        let line = self.line.take().unwrap_or_else(|| self.empty_line());
        self.line.insert(line)
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &'a str {
        self.source.get(range.clone()).unwrap_or_default()
    }

    pub(super) fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the line after a block.
    pub(super) fn end_of(&self, range: &Range<usize>) -> usize {
        self.line_of(range.start + self.slice(range).trim_end().len().saturating_sub(1)) + 1
    }

    pub(super) fn go_to_start(&mut self, range: &Range<usize>) {
        if self.table.is_none() {
            self.go_to(self.line_of(range.start));
        }
    }

    /// Ends lines until this one is the current one.
    pub(super) fn go_to(&mut self, number: usize) {
        while self.lines.len() < number {
            let line = self.line.take().unwrap_or_else(|| self.uncovered());
            self.lines.push(Line::Text(line));
        }
    }

    /// Ends the current line, and leaves the lines up to this one empty.
    pub(super) fn cover(&mut self, number: usize) {
        if let Some(line) = self.line.take() {
            self.lines.push(Line::Text(line));
        }
        while self.lines.len() < number {
            self.lines.push(Line::Rows(Vec::new()));
        }
    }

    /// Returns the next line unchanged: no event covers it. Usually it is empty.
    pub(super) fn uncovered(&self) -> Text {
        let at = self.lines.len();
        let start = self.starts.get(at).copied().unwrap_or(self.source.len());
        let line = first_line(self.source.get(start..).unwrap_or_default());
        let is_quoted =
            self.containers.iter().any(|container| matches!(container, Container::Quote));
        let text = line.trim_start_matches(|c| c == ' ' || (c == '>' && is_quoted));
        let mut prefix = self.prefix();
        if text.trim().is_empty() && !is_quoted {
            prefix.clear();
        }
        let spans = vec![Span::plain(plain(&text.trim_end().replace(JOINER, "")))];
        Text { hang: prefix.clone(), prefix, spans, at: Break::Anywhere }
    }
}
