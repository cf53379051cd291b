//! A table, which has its columns only when all of its lines are there.

use anstyle::{Effects, Style};

use super::DIM;
use super::inline::inline;
use super::rows::{Break, Row, Span, columns, rows};

/// What stands between two columns.
const GAP: &str = " │ ";
const CROSS: &str = "─┼─";

/// The narrowest column that can be read.
const LEAST: usize = 4;

/// The lines of a table as rows of at most `limit` columns; none if they are no table or have no room.
pub fn table(lines: &[String], limit: usize) -> Option<Vec<Row>> {
    let (head, rest) = lines.split_first()?;
    let (rule, body) = rest.split_first()?;
    let rights: Vec<bool> = cells(rule).iter().map(|cell| is_rule(cell)).collect::<Option<_>>()?;
    let head: Vec<Vec<Span>> = cells(head).iter().map(|cell| inline(cell, Effects::BOLD)).collect();
    let body: Vec<Vec<Vec<Span>>> =
        body.iter().map(|line| cells(line).iter().map(|cell| inline(cell, Effects::new())).collect()).collect();
    let widths = widths(&head, &body, rights.len(), limit)?;
    let mut made = line(&head, &widths, &rights);
    let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    made.extend(rows(&[Span::new(DIM, dashes.join(CROSS))], &[], limit, Break::Anywhere));
    for cells in &body {
        made.extend(line(cells, &widths, &rights));
    }
    Some(made)
}

/// The cells of a line; a `\|` is part of one.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in line.chars() {
        match cells.last_mut() {
            Some(cell) if c != '|' || escaped => cell.push(c),
            _ => cells.push(String::new()),
        }
        escaped = c == '\\' && !escaped;
    }
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Whether a cell of the line below the head sets its column to the right; none if it is no such cell.
fn is_rule(cell: &str) -> Option<bool> {
    let dashes = cell.trim_start_matches(':').trim_end_matches(':');
    let is_one = !dashes.is_empty() && dashes.chars().all(|c| c == '-');
    is_one.then(|| cell.ends_with(':') && !cell.starts_with(':'))
}

/// How wide each column is: as wide as it needs, and where there is no room the widest ones are narrowed.
fn widths(head: &[Vec<Span>], body: &[Vec<Vec<Span>>], count: usize, limit: usize) -> Option<Vec<usize>> {
    let widest = |at: usize| {
        let cells = std::iter::once(head).chain(body.iter().map(Vec::as_slice)).filter_map(|cells| cells.get(at));
        cells.map(|cell| columns(cell)).max().unwrap_or(0).max(1)
    };
    let mut widths: Vec<usize> = (0..count).map(widest).collect();
    let room = limit.checked_sub(GAP.chars().count() * count.saturating_sub(1))?;
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max().filter(|width| **width > LEAST)?;
        *widest -= 1;
    }
    Some(widths)
}

/// One line of a table, on as many rows as its highest cell has.
fn line(cells: &[Vec<Span>], widths: &[usize], rights: &[bool]) -> Vec<Row> {
    let none = Vec::new();
    let cell = |at: usize| cells.get(at).unwrap_or(&none);
    let wrapped: Vec<Vec<Row>> =
        widths.iter().enumerate().map(|(at, width)| rows(cell(at), &[], *width, Break::Words)).collect();
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
    use super::*;

    fn shown(text: &str, limit: usize) -> Option<Vec<String>> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Some(table(&lines, limit)?.iter().map(|row| row.text(false)).collect())
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let text = "| place | tide |\n|---|---:|\n| Ems | 3 |\n| Tönning | **12** |";
        assert_eq!(shown(text, 80).unwrap(), ["place   │ tide", "────────┼─────", "Ems     │    3", "Tönning │   12"]);
    }

    #[test]
    fn a_wide_column_is_broken_between_words() {
        let text = "|a|b|\n|-|-|\n|x|the tide is high at noon|\n|漢字|y|";
        assert_eq!(
            shown(text, 16).unwrap(),
            ["a    │ b", "─────┼──────────", "x    │ the tide", "     │ is high", "     │ at noon", "漢字 │ y"]
        );
    }

    #[test]
    fn what_is_no_table_is_none() {
        assert_eq!(shown("| a | b |", 80), None);
        assert_eq!(shown("| a | b |\n| c | d |", 80), None);
        assert_eq!(shown(&format!("|{}\n|{}", "aaaaaaaa|".repeat(20), "---|".repeat(20)), 80), None, "no room");
    }

    #[test]
    fn a_bar_that_is_escaped_is_part_of_its_cell() {
        assert_eq!(shown("|a\\|b|c|\n|-|-|", 80).unwrap(), ["a|b │ c", "────┼──"]);
    }
}
