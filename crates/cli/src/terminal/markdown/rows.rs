//! Styled text as rows of a terminal: broken between words, or anywhere where there are none.

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

/// A stretch of text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub style: Style,
    pub text: String,
}

impl Span {
    pub fn new(style: Style, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }
}

/// Where a row may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Between words.
    Words,
    /// Wherever it is full.
    Anywhere,
}

/// Signs that do not begin a row.
const CLOSING: &str = "，。、；：？！）」』】》〉”’…";

/// One row of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    cells: Vec<(char, Style)>,
}

impl Row {
    fn of(spans: &[Span]) -> Self {
        let cells = spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.style)));
        Self { cells: cells.collect() }
    }

    /// The columns it takes.
    pub fn width(&self) -> usize {
        self.cells.iter().map(|(c, _)| width(*c)).sum()
    }

    /// Adds a text in one style.
    pub fn add(&mut self, text: &str, style: Style) {
        self.cells.extend(text.chars().map(|c| (c, style)));
    }

    /// Adds another row behind this one.
    pub fn append(&mut self, mut other: Self) {
        self.cells.append(&mut other.cells);
    }

    /// Takes blanks from its end, where they say nothing.
    pub fn trim(&mut self) {
        while self.cells.last().is_some_and(|(c, _)| *c == ' ') {
            self.cells.pop();
        }
    }

    /// The row as it is written, with codes for its styles where they are wanted.
    pub fn text(&self, styled: bool) -> String {
        let mut out = String::new();
        for run in self.cells.chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|(c, _)| *c).collect();
            match run.first() {
                Some((_, style)) if styled => out += &format!("{style}{text}{style:#}"),
                _ => out += &text,
            }
        }
        out
    }
}

/// The columns of a text.
pub fn columns(spans: &[Span]) -> usize {
    Row::of(spans).width()
}

fn width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The rows of a text, none wider than `limit`; all but the first begin with `hang`.
pub fn rows(spans: &[Span], hang: &[Span], limit: usize, at: Break) -> Vec<Row> {
    let hang = Row::of(hang);
    // An indentation that leaves no room is no help.
    let hang = if hang.width() + 8 > limit { Row::default() } else { hang };
    let mut done = Vec::new();
    let (mut row, mut used) = (Row::default(), 0);
    // Where the row can be broken, and the cells that it begins with anyway.
    let (mut can_break, mut fixed) = (None, 0);
    for (c, style) in Row::of(spans).cells {
        let before = row.cells.last().map(|(c, _)| *c);
        if at == Break::Words && row.cells.len() > fixed && may_break(before, c) {
            can_break = Some(row.cells.len());
        }
        if used + width(c) > limit && row.cells.len() > fixed {
            let rest = row.cells.split_off(can_break.take().filter(|_| c != ' ').unwrap_or(row.cells.len()));
            if at == Break::Words {
                row.trim();
            }
            done.push(std::mem::replace(&mut row, hang.clone()));
            fixed = row.cells.len();
            row.cells.extend(rest);
            used = row.width();
            if c == ' ' && at == Break::Words {
                continue;
            }
        }
        used += width(c);
        row.cells.push((c, style));
    }
    done.push(row);
    done
}

/// Whether a row may end between two characters. Scripts without blanks may be broken nearly anywhere.
fn may_break(before: Option<char>, behind: char) -> bool {
    let Some(before) = before else { return false };
    let wide = |c: char| width(c) == 2;
    (before == ' ' && behind != ' ')
        || (wide(behind) && !CLOSING.contains(behind))
        || (wide(before) && behind.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, hang: &str, limit: usize, at: Break) -> Vec<String> {
        let (spans, hang) = ([Span::new(Style::new(), text)], [Span::new(Style::new(), hang)]);
        rows(&spans, &hang, limit, at).iter().map(|row| row.text(false)).collect()
    }

    #[test]
    fn rows_end_between_words() {
        let text = "the tide is high at noon and low at six";
        assert_eq!(wrapped(text, "", 14, Break::Words), ["the tide is", "high at noon", "and low at six"]);
        assert_eq!(wrapped(text, "  ", 14, Break::Words), ["the tide is", "  high at noon", "  and low at", "  six"]);
    }

    #[test]
    fn a_word_longer_than_a_row_is_cut() {
        assert_eq!(wrapped("see 0123456789abcdef ok", "", 10, Break::Words), ["see", "0123456789", "abcdef ok"]);
    }

    #[test]
    fn chinese_is_broken_anywhere_but_before_a_closing_sign() {
        assert_eq!(wrapped("潮水涨得很高，很快", "", 12, Break::Words), ["潮水涨得很", "高，很快"]);
        assert_eq!(wrapped("水位water高", "", 8, Break::Words), ["水位", "water高"]);
    }

    #[test]
    fn code_keeps_its_blanks() {
        assert_eq!(wrapped("if a  { b }", "", 5, Break::Anywhere), ["if a ", " { b ", "}"]);
    }

    #[test]
    fn nothing_is_one_empty_row() {
        assert_eq!(wrapped("", "", 10, Break::Words), [""]);
    }
}
