//! Texts that must fit into the columns of a terminal.

use std::ops::RangeInclusive;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::plain;
use super::rows::{self, Span};

/// The columns of lines that go to no terminal: nobody's screen breaks them.
const ELSEWHERE: usize = 120;

/// Lines that are narrower say nothing, and wider ones cannot be read.
const READABLE: RangeInclusive<usize> = 60..=160;

/// The columns and rows of the terminal, where there is one and it says.
pub fn size() -> Option<(usize, usize)> {
    terminal_size::terminal_size()
        .map(|(width, height)| (usize::from(width.0), usize::from(height.0)))
}

/// The columns of the terminal, within what can be read.
pub fn columns() -> usize {
    size().map_or(ELSEWHERE, |(columns, _)| columns).clamp(*READABLE.start(), *READABLE.end())
}

/// The columns that are left beside what a line has already.
pub fn room(used: usize) -> usize {
    columns().saturating_sub(used)
}

/// The columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text with blanks behind it, up to so many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(blanks))
}

/// The beginning of a text that fits into so many columns.
pub fn cut(text: &str, columns: usize) -> String {
    let text = plain(text);
    if text.width() <= columns {
        return text;
    }
    let mut shown = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > columns {
            break;
        }
        shown.push(character);
    }
    shown + "…"
}

/// A text wrapped into lines of so many columns; line breaks and other blanks in it count as one
/// space.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    rows::wrap(vec![Span::plain(words.join(" "))], columns)
        .iter()
        .map(|row| row.text(false))
        .collect()
}

/// A bar of so many columns, as full as a part is of the whole, to the eighth of a column. What is
/// not nothing is seen.
pub fn bar(part: usize, whole: usize, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (part * columns * 8).checked_div(whole).unwrap_or(0).min(columns * 8);
    let eighths = if part > 0 { eighths.max(1) } else { 0 };
    let mut bar = "█".repeat(eighths / 8);
    if let Some(rest) = EIGHTHS.get(eighths % 8).filter(|_| eighths % 8 > 0) {
        bar.push(*rest);
    }
    let missing = columns.saturating_sub(bar.chars().count());
    bar + &" ".repeat(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_between_words_and_where_there_are_none_anywhere() {
        assert_eq!(wrap("take the last turn back", 10), ["take the", "last turn", "back"]);
        assert_eq!(wrap("撤销上一轮", 4), ["撤销", "上一", "轮"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn bars_tell_little_from_less() {
        assert_eq!((bar(0, 800, 4), bar(1, 800, 4)), ("    ".to_owned(), "▏   ".to_owned()));
        assert_eq!((bar(250, 800, 4), bar(900, 800, 4)), ("█▎  ".to_owned(), "████".to_owned()));
        assert_eq!(bar(5, 0, 2), "▏ ");
    }
}
