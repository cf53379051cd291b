//! Texts that fit into the columns of a terminal.

use std::ops::RangeInclusive;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use waterline_config::Lang;

use super::plain;
use super::rows::{self, Span};

/// The columns of lines that do not go to a terminal.
const NO_TERMINAL: usize = 120;

/// Narrower lines show too little, and wider ones are hard to read.
const READABLE: RangeInclusive<usize> = 60..=160;

/// Returns the columns and rows of the terminal, if there is one and it reports them.
pub fn size() -> Option<(usize, usize)> {
    terminal_size::terminal_size()
        .map(|(width, height)| (usize::from(width.0), usize::from(height.0)))
}

/// Returns the columns of the terminal, within the readable range.
pub fn columns() -> usize {
    size().map_or(NO_TERMINAL, |(columns, _)| columns).clamp(*READABLE.start(), *READABLE.end())
}

/// Returns the columns that are left on a line.
pub fn room(used: usize) -> usize {
    columns().saturating_sub(used)
}

/// Returns the columns that a text uses.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Pads a text with spaces to a number of columns.
pub fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(blanks))
}

/// Pads a text with spaces on its left to a number of columns.
pub fn align_right(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(text.width());
    format!("{}{text}", " ".repeat(blanks))
}

/// Returns an English text with a capital first letter, unless it starts with a path, a quoted name
/// or an identifier.
pub fn capitalized(lang: Lang, text: &str) -> String {
    let is_word = text
        .split(' ')
        .next()
        .is_some_and(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if is_word && lang == Lang::En => {
            format!("{}{}", first.to_ascii_uppercase(), chars.as_str())
        }
        _ => text.to_owned(),
    }
}

/// Truncates a text to a number of columns.
pub fn truncate(text: &str, columns: usize) -> String {
    let text = plain(&text.replace('\t', " "));
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

/// Wraps a text into lines of a number of columns. Each run of white space counts as one space.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    rows::wrap(vec![Span::plain(words.join(" "))], columns)
        .iter()
        .map(|row| row.text(false))
        .collect()
}

/// Draws a bar that shows a part of a whole, to an eighth of a column. Any part above zero is
/// visible.
pub fn bar(part: usize, whole: usize, columns: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let exact = (part * columns * 8).checked_div(whole).unwrap_or(0).min(columns * 8);
    let eighths = if part > 0 { exact.max(1) } else { 0 };
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
    fn text_wraps_between_words_and_chinese_anywhere() {
        assert_eq!(wrap("undo the last turn now", 10), ["undo the", "last turn", "now"]);
        assert_eq!(wrap("撤销上一轮", 4), ["撤销", "上一", "轮"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn sentences_are_capitalized_and_names_are_not() {
        let shown = |text: &str| capitalized(Lang::En, text);
        assert_eq!(shown("unknown model \"x\""), "Unknown model \"x\"");
        for name in ["/proc/x exists", "a.txt exists", "fold.low (2) must", "m: gone", "", "ÄB"] {
            assert_eq!(shown(name), name);
        }
        assert_eq!(capitalized(Lang::Zh, "main 无效"), "main 无效");
    }

    #[test]
    fn bars_show_eighths_of_a_column() {
        assert_eq!((bar(0, 800, 4), bar(1, 800, 4)), ("    ".to_owned(), "▏   ".to_owned()));
        assert_eq!((bar(250, 800, 4), bar(900, 800, 4)), ("█▎  ".to_owned(), "████".to_owned()));
        assert_eq!(bar(5, 0, 2), "▏ ");
    }
}
