//! Characters that people cannot see.

/// Returns whether a character controls a terminal, reverses text, or is invisible to people but
/// not to a model. People must see everything they approve. Some of these characters occur in
/// ordinary text (joined emoji, soft hyphens); text that is only read may keep them.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    let reorders = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let is_invisible = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    reorders || is_invisible || (c.is_control() && !matches!(c, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_hidden_and_ordinary_text_is_not() {
        let hidden = "\u{1b}\r\0\u{7f}\u{61c}\u{200b}\u{200c}\u{200d}\u{200e}\u{202e}\u{2060}\
                      \u{2066}\u{feff}\u{e0041}\u{e0100}";
        assert!(hidden.chars().all(is_hidden));
        let visible = "höhe 潮 مد \n\t— ❤ 'x' \u{fffd}";
        assert!(!visible.chars().any(is_hidden));
    }
}
