//! An answer as it streams in, with its markdown styled and its lines broken between words. The unfinished line is written as
//! it comes; where more of it changes what is there, the rows in question are taken back and written again. A line is
//! understood by itself, but for code blocks and tables; a table is written when it is whole.
//!
//! Says what is to be written and writes nothing. It is for a terminal, with the cursor at the start of a line: behind
//! a writer that strips codes, every row that is taken back would be there twice.

mod inline;
mod rows;
mod table;
#[cfg(test)]
mod tests;

use anstyle::{AnsiColor, Effects, Style};

use crate::show::{DIM, plain};
use inline::inline;
use rows::{Break, Row, Span, rows};

/// A text of the program's own in one style, its lines broken between words.
pub fn wrapped(text: &str, style: Style, size: Size) -> String {
    let limit = size.columns.max(NARROWEST) - 1;
    let broken = |line: &str| rows(&[Span::new(style, plain(line))], &[], limit, Break::Words);
    let rows = text.split('\n').flat_map(|line| broken(&line.replace('\t', "    ")));
    rows.map(|row| row.text(true)).collect::<Vec<_>>().join("\n")
}

const CODE: Style = AnsiColor::Cyan.on_default();

/// The columns of a horizontal rule.
const RULE: usize = 40;

/// A narrower terminal is taken for one of so many columns.
pub const NARROWEST: usize = 10;

/// Rows of the screen that are left to what stands around an answer.
pub const AROUND: usize = 6;

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
    /// The line whose end has not come, without what could steer the terminal.
    line: String,
    /// Its rows that are on the screen, and the column to which they brought the cursor.
    shown: Vec<String>,
    column: usize,
    fence: Option<Fence>,
    /// The lines of a table whose end has not come.
    table: Vec<String>,
}

/// What opened the code block that the lines are in.
#[derive(Clone, Copy)]
struct Fence {
    sign: char,
    length: usize,
    quotes: usize,
}

/// What a line is.
enum Block {
    /// The line that opens a code block.
    Opens(Fence, Text),
    /// A line of a code block, and whether it ends it.
    Code { ends: bool, text: Text },
    /// A line of a table.
    Table,
    /// Anything else.
    Text(Text),
}

/// What a line is to look like: its rows but the first begin with `hang`.
struct Text {
    spans: Vec<Span>,
    hang: Vec<Span>,
    at: Break,
}

impl Markdown {
    /// For a terminal of its true size, which tells where a line goes on in the next row.
    pub fn new(size: Size, styled: bool) -> Self {
        let (line, shown, table) = (String::new(), Vec::new(), Vec::new());
        Self { size, styled, line, shown, column: 0, fence: None, table }
    }

    /// What is to be written to the terminal for more of the answer.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.end_line(&mut out);
            }
            self.line += &plain(&part.replace('\r', "").replace('\t', "    "));
        }
        self.show(&mut out);
        out
    }

    /// What is to be written at the end: the line that is not finished, or the table. Ends with a line break if anything was
    /// written. Another answer can follow.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.end_table(&mut out);
        self.fence = None;
        out
    }

    /// What is to be written when the terminal may have another size now. A terminal that was made wider or narrower has broken
    /// its rows anew, so what is there cannot be taken back any more: the unfinished line is written once more, below it. What
    /// it had before stays, and nothing else is touched.
    pub fn resize(&mut self, size: Size) -> String {
        let is_same = size.columns == self.size.columns && self.shown.len() <= most(size);
        self.size = size;
        let mut out = String::new();
        if is_same || self.shown.is_empty() {
            return out;
        }
        if !self.line.is_empty() {
            out.push('\n');
        }
        self.shown.clear();
        self.column = 0;
        self.show(&mut out);
        out
    }

    /// Where the cursor stands in its row.
    pub const fn column(&self) -> usize {
        self.column
    }

    /// Whether something waits for its end before it is written.
    pub fn holds_back(&self) -> bool {
        !self.table.is_empty() || is_table(&self.line)
    }

    /// The columns that are written to. Not the last one: with the cursor behind it, terminals differ.
    fn limit(&self) -> usize {
        self.size.columns.max(NARROWEST) - 1
    }

    /// Writes the unfinished line as far as it can still be taken back: not what has left the top of the screen.
    fn show(&mut self, out: &mut String) {
        let most = most(self.size);
        if self.shown.len() == most && self.line.len() > 4 * most * self.limit() {
            return;
        }
        let text = match self.read() {
            Block::Table => return,
            _ if !self.table.is_empty() && self.line.is_empty() => return,
            Block::Opens(_, text) | Block::Code { text, .. } | Block::Text(text) => text,
        };
        self.end_table(out);
        let mut rows = self.rows(&text);
        rows.truncate(most);
        self.draw(&rows, out);
    }

    fn end_line(&mut self, out: &mut String) {
        let text = match self.read() {
            Block::Table => {
                self.table.push(std::mem::take(&mut self.line));
                return;
            }
            Block::Opens(fence, text) => {
                self.fence = Some(fence);
                text
            }
            Block::Code { ends, text } => {
                self.fence = self.fence.filter(|_| !ends);
                text
            }
            Block::Text(text) => {
                // A quote that ends takes its code block along.
                self.fence = None;
                text
            }
        };
        self.end_table(out);
        let rows = self.rows(&text);
        self.draw(&rows, out);
        self.break_line(out);
    }

    fn end_table(&mut self, out: &mut String) {
        let lines = std::mem::take(&mut self.table);
        if lines.is_empty() {
            return;
        }
        let as_written = || {
            let text = |line: &String| Text { spans: unstyled(line), hang: Vec::new(), at: Break::Anywhere };
            lines.iter().flat_map(|line| self.rows(&text(line))).collect()
        };
        for row in table::table(&lines, self.limit()).unwrap_or_else(as_written) {
            self.draw(&[row], out);
            self.break_line(out);
        }
    }

    fn break_line(&mut self, out: &mut String) {
        out.push('\n');
        self.line.clear();
        self.shown.clear();
        self.column = 0;
    }

    fn rows(&self, text: &Text) -> Vec<Row> {
        rows(&text.spans, &text.hang, self.limit(), text.at)
    }

    /// Makes the rows of the unfinished line be these.
    fn draw(&mut self, rows: &[Row], out: &mut String) {
        let new: Vec<String> = rows.iter().map(|row| row.text(self.styled)).collect();
        let same = self.shown.iter().zip(&new).take_while(|(old, new)| old == new).count();
        // The row of the cursor, if it only grows, is gone on with.
        let last = self.shown.len().saturating_sub(1);
        let grown = new.get(last).zip(self.shown.last()).and_then(|(new, old)| new.strip_prefix(old.as_str()));
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
        self.column = rows.last().map_or(0, Row::width);
        self.shown = new;
    }

    /// What the line is, as far as it has come.
    fn read(&self) -> Block {
        if let Some(fence) = self.fence {
            let (quotes, text) = unquote(&self.line, fence.quotes);
            if quotes == fence.quotes {
                let ends = fence.ends_with(text);
                let mut spans = bars(quotes);
                spans.push(Span::new(if ends { DIM } else { CODE }, text));
                return Block::Code { ends, text: Text { spans, hang: bars(quotes), at: Break::Anywhere } };
            }
        }
        if is_table(&self.line) {
            return Block::Table;
        }
        let (quotes, rest) = unquote(&self.line, usize::MAX);
        let text = rest.trim_start_matches(' ');
        let mut spans = bars(quotes);
        spans.push(Span::new(Style::new(), " ".repeat(rest.len() - text.len())));
        let mut hang = spans.clone();
        let (marker, text) = item(text);
        hang.push(Span::new(Style::new(), " ".repeat(marker.chars().count())));
        spans.push(Span::new(Style::new(), marker));
        let at = Break::Words;
        if is_rule(text) {
            spans.push(Span::new(DIM, "─".repeat(self.limit().min(RULE))));
        } else if let Some(fence) = Fence::opened_by(text, quotes) {
            spans.push(Span::new(DIM, text));
            return Block::Opens(fence, Text { spans, hang, at });
        } else if let Some(heading) = heading(text) {
            spans.extend(inline(heading, Effects::BOLD));
        } else {
            spans.extend(inline(text, Effects::new()));
        }
        Block::Text(Text { spans, hang, at })
    }
}

impl Fence {
    fn opened_by(text: &str, quotes: usize) -> Option<Self> {
        let text = text.trim_start();
        let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let language = text.trim_start_matches(sign);
        let length = text.len() - language.len();
        // Backticks further on make it code within a line.
        (length >= 3 && !(sign == '`' && language.contains('`'))).then_some(Self { sign, length, quotes })
    }

    fn ends_with(&self, text: &str) -> bool {
        let text = text.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.sign)
    }
}

/// The rows of an unfinished line that can be taken back.
fn most(size: Size) -> usize {
    size.rows.saturating_sub(AROUND).max(1)
}

/// How deep a line is quoted, at most so deep, and what it says.
fn unquote(line: &str, most: usize) -> (usize, &str) {
    let (mut quotes, mut rest) = (0, line);
    while quotes < most
        && let Some(quoted) = rest.trim_start_matches(' ').strip_prefix('>')
    {
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
        quotes += 1;
    }
    (quotes, rest)
}

fn bars(quotes: usize) -> Vec<Span> {
    vec![Span::new(DIM, "│ ".repeat(quotes))]
}

fn unstyled(text: &str) -> Vec<Span> {
    vec![Span::new(Style::new(), text)]
}

fn is_table(line: &str) -> bool {
    line.trim_start_matches(' ').starts_with('|')
}

fn is_rule(text: &str) -> bool {
    let Some(sign) = text.chars().next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    text.chars().all(|c| c == sign || c == ' ') && text.chars().filter(|c| *c == sign).count() >= 3
}

/// What a list's item begins with, as it is shown, and the item; nothing and the text if it is none.
fn item(text: &str) -> (&str, &str) {
    if is_rule(text) {
        return ("", text);
    }
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|bullet| text.strip_prefix(bullet)) {
        return ("• ", item);
    }
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match behind.strip_prefix(". ").or_else(|| behind.strip_prefix(") ")) {
        Some(item) if behind.len() < text.len() => (text.strip_suffix(item).unwrap_or_default(), item),
        _ => ("", text),
    }
}

fn heading(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches('#');
    let words = behind.strip_prefix(' ').filter(|_| (1..=6).contains(&(text.len() - behind.len())))?.trim();
    // Signs may close a heading too, but the one of "C#" belongs to its word.
    Some(words.trim_end_matches('#')).filter(|bare| bare.ends_with(' ')).map(str::trim_end).or(Some(words))
}
