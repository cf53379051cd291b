//! Texts that must fit into the columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::plain;

/// The columns of the terminal, within what can be read.
pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0)).clamp(60, 160)
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
