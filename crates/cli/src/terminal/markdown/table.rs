//! Renders a table. The widths of its columns are known only when all of its lines have arrived.

use anstyle::Style;
use pulldown_cmark::Alignment;

use crate::show::DIM;
use crate::show::rows::{Row, Span, columns, wrap};

/// The separator between two columns.
const GAP: &str = " │ ";
const CROSS: &str = "─┼─";

/// The smallest width of a column that was narrowed.
const MIN_WIDTH: usize = 4;

/// The text of a cell.
type Cell = Vec<Span>;

/// The cells of a table.
pub struct Table {
    /// Whether each column is right-aligned.
    rights: Vec<bool>,
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl Table {
    pub fn new(alignments: &[Alignment]) -> Self {
        let rights = alignments.iter().map(|alignment| *alignment == Alignment::Right).collect();
        Self { rights, rows: Vec::new(), row: Vec::new() }
    }

    /// Starts a cell.
    pub fn begin_cell(&mut self) {
        self.row.push(Vec::new());
    }

    /// Adds text to the current cell.
    pub fn push(&mut self, span: Span) {
        if let Some(cell) = self.row.last_mut() {
            cell.push(span);
        }
    }

    /// Ends the row; the first one is the header.
    pub fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Returns the table in rows of at most `limit` columns; `None` if it does not fit.
    pub fn rows(&self, limit: usize) -> Option<Vec<Row>> {
        let widths = self.widths(limit)?;
        let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let mut made = Vec::new();
        for (at, cells) in self.rows.iter().enumerate() {
            made.extend(line(cells, &widths, &self.rights));
            if at == 0 {
                made.push(Row::of(&[Span::new(DIM, dashes.join(CROSS))]));
            }
        }
        Some(made)
    }

    /// Returns the width of each column. If there is not enough room, the widest ones are narrowed.
    fn widths(&self, limit: usize) -> Option<Vec<usize>> {
        let widest = |at: usize| {
            let cells = self.rows.iter().filter_map(|cells| cells.get(at));
            cells.map(|cell| columns(cell)).max().unwrap_or(0).max(1)
        };
        let count = self.rights.len();
        let mut widths: Vec<usize> = (0..count).map(widest).collect();
        let room = limit.checked_sub(GAP.chars().count() * count.saturating_sub(1))?;
        let total = |cap: usize| widths.iter().map(|width| (*width).min(cap)).sum::<usize>();
        if total(usize::MAX) > room {
            let cap = (MIN_WIDTH..=room).rev().find(|cap| total(*cap) <= room)?;
            widths.iter_mut().for_each(|width| *width = (*width).min(cap));
        }
        Some(widths)
    }
}

/// Renders one row of a table, on as many rows of the screen as its tallest cell needs.
fn line(cells: &[Cell], widths: &[usize], rights: &[bool]) -> Vec<Row> {
    let none = Vec::new();
    let cell = |at: usize| cells.get(at).unwrap_or(&none);
    let wrapped: Vec<Vec<Row>> =
        widths.iter().enumerate().map(|(at, width)| wrap(cell(at).clone(), *width)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    (0..height).map(|row| join(&wrapped, row, widths, rights)).collect()
}

fn join(wrapped: &[Vec<Row>], row: usize, widths: &[usize], rights: &[bool]) -> Row {
    let mut joined = Row::default();
    for (at, (cell, (width, right))) in wrapped.iter().zip(widths.iter().zip(rights)).enumerate() {
        if at > 0 {
            joined.add(GAP, DIM);
        }
        let part = cell.get(row).cloned().unwrap_or_default();
        let blanks = " ".repeat(width.saturating_sub(part.width()));
        if *right {
            joined.add(&blanks, Style::new());
        }
        joined.append(part);
        if !right {
            joined.add(&blanks, Style::new());
        }
    }
    joined.trim();
    joined
}

#[cfg(test)]
mod tests {
    use super::super::highlight::State;
    use super::super::render::render;

    fn shown(text: &str, limit: usize) -> Vec<String> {
        let lines = render(text, limit, true, State::default()).lines;
        lines.iter().flat_map(|line| line.rows(limit)).map(|row| row.text(false)).collect()
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let text = "| place | tide |\n|---|---:|\n| Ems | 3 |\n| Tönning | **12** |";
        assert_eq!(
            shown(text, 80),
            ["place   │ tide", "────────┼─────", "Ems     │    3", "Tönning │   12"]
        );
    }

    #[test]
    fn a_wide_column_is_wrapped_between_words() {
        let text = "|a|b|\n|-|-|\n|x|the tide is high at noon|\n|漢字|y|";
        assert_eq!(
            shown(text, 16),
            [
                "a    │ b",
                "─────┼──────────",
                "x    │ the tide",
                "     │ is high",
                "     │ at noon",
                "漢字 │ y"
            ]
        );
    }

    #[test]
    fn a_table_that_is_incomplete_or_does_not_fit_is_shown_unchanged() {
        assert_eq!(shown("| a | b |", 80), ["| a | b |"]);
        assert_eq!(shown("| a | b |\n| c | d |", 80), ["| a | b |", "| c | d |"]);
        let wide = format!("|{}\n|{}", "aaaaaaaa|".repeat(20), "---|".repeat(20));
        assert_eq!(shown(&wide, 300).len(), 2);
        assert_eq!(shown(&wide, 80).concat(), wide.replace('\n', ""), "no room");
    }

    #[test]
    fn an_escaped_bar_is_part_of_its_cell() {
        assert_eq!(shown("|a\\|b|c|\n|-|-|", 80), ["a|b │ c", "────┼──"]);
    }

    #[test]
    fn a_table_may_be_in_a_quote_or_an_item_and_needs_no_outer_bars() {
        assert_eq!(shown("> a | b\n> --|--\n> c | d", 80), ["│ a │ b", "│ ──┼──", "│ c │ d"]);
        assert_eq!(
            shown("- |a|b|\n  |-|-|\n  |c|d|\nend", 80),
            ["• a │ b", "  ──┼──", "  c │ d", "end"]
        );
    }
}
