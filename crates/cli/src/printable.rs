//! Makes text of models, tools and files safe to print: it cannot control the terminal or hide
//! anything from the user.

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
