//! How things are shown: for programs as JSON, for people as tables.

mod json;
mod markdown;
mod notice;
mod one_line;
pub mod replay;
mod report;
pub mod rows;
mod table;
mod text;
mod turn;
mod why;

pub use json::json;
pub use markdown::markdown;
pub use notice::{kept, notice};
pub use one_line::one_line;
pub use report::Report;
pub use table::{line, table};
pub use text::{bar, cut, pad, room, size, width, wrap};
pub use turn::{call_note, handed_off, odd};
pub use why::why;

use anstyle::Style;

/// How words look that stand beside the matter.
pub const DIM: Style = Style::new().dimmed();

/// A number with its thousands apart.
pub fn number(n: usize) -> String {
    let digits = n.to_string();
    let mut apart = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// So many of something: `1 session`, `1,200 sessions`.
pub fn count(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", number(n))
}

/// The same of a number as the log counts.
pub fn count_of(n: u64, what: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), what)
}

/// A share in percent, with the digits that tell good from better.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (99.0..100.0).contains(&percent) {
        format!("{percent:.2}%")
    } else {
        format!("{percent:.1}%")
    }
}

/// What comes from a file must not steer the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { '\u{FFFD}' } else { c }).collect()
}

/// Characters that turn the order of others around.
const fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The same for a text of several lines, which may hold tabs.
pub fn lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(plain).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The same for what somebody is asked to agree to: nothing of it may stay unseen, also not what
/// joins letters in an ordinary text.
pub fn unhidden(text: &str) -> String {
    let shown = |c: char| if waterline_agent::approval::is_hidden(c) { '\u{FFFD}' } else { c };
    lines(&text.chars().map(shown).collect::<String>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(super::number(0), "0");
        assert_eq!(super::number(999), "999");
        assert_eq!(super::number(1_234_567), "1,234,567");
    }

    #[test]
    fn nothing_is_hidden_in_what_somebody_agrees_to() {
        let asked = "rm\u{200b} a\u{61c}\u{2060}\u{feff}\u{e0041}\n\tb\u{202e}";
        assert_eq!(
            super::unhidden(asked),
            "rm\u{fffd} a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n\tb\u{fffd}"
        );
        assert_eq!(
            super::lines("क्\u{200d}ष\u{61c}"),
            "क्\u{200d}ष\u{fffd}",
            "an answer may join its letters"
        );
    }
}
