//! Output: JSON for programs, tables and texts for people.

mod approval;
mod end_reason;
mod json;
mod markdown;
mod notice;
mod one_line;
mod passage;
mod phrase;
mod reason;
mod refusal;
pub mod replay;
mod report;
pub mod rows;
mod table;
mod text;
mod turn;
mod why;

pub use approval::approval_reason;
pub use json::json;
pub use markdown::markdown;
pub use notice::{kept, notice, server_problem, skill_problem, turn_notice, window_guess};
pub use one_line::one_line;
pub use passage::{match_reason, passage};
pub use phrase::phrase;
pub use reason::reason;
pub use refusal::refusal;
pub use report::Report;
pub use table::{line, table, treatment};
pub use text::{align_right, bar, pad, room, size, truncate, width, wrap};
pub use turn::{call_note, handed_off, odd, remembered};
pub use why::why;

use anstyle::Style;
use waterline::tokens::Method;
use waterline_log::Numbering;

pub use crate::number::number;

/// The style of secondary text.
pub const DIM: Style = Style::new().dimmed();

/// Formats a share in percent, with one more digit from 99% on.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if (99.0..100.0).contains(&percent) {
        format!("{percent:.2}%")
    } else {
        format!("{percent:.1}%")
    }
}

/// Formats the number of the message at a position. The system prompt has none.
pub fn message_number(numbering: &Numbering, position: u64) -> String {
    numbering.number(position).map_or_else(|| "–".to_owned(), |number| number.to_string())
}

/// Returns the name of a counting method.
pub fn method(method: Method) -> String {
    match method {
        Method::Estimate(ratio) => {
            crate::text!("method-estimate", ratio = ratio.chars_per_token().to_string())
        }
        other => other.to_string(),
    }
}

/// Replaces control characters, so that content cannot control the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { '\u{FFFD}' } else { c }).collect()
}

/// Whether a character changes the text direction.
const fn is_direction(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Like [`plain`], but keeps line breaks and tabs.
pub fn lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(plain).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Like [`lines`], for text that the user is asked to approve: every invisible character is
/// replaced, also the joiners of ordinary text.
pub fn unhidden(text: &str) -> String {
    let shown = |c: char| if waterline_agent::approval::is_hidden(c) { '\u{FFFD}' } else { c };
    lines(&text.chars().map(shown).collect::<String>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn approved_text_has_no_invisible_characters() {
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
