//! The output of a command as a terminal would leave it: without colors, and with the last state of
//! lines that were overwritten.

use std::str::Chars;

/// Removes escape sequences, and keeps the last state of lines that were overwritten with carriage
/// returns, such as progress bars. Line ends of the form `\r\n` stay.
pub(super) fn plain(output: &str) -> String {
    if !output.contains(['\u{1b}', '\r', '\u{8}']) {
        return output.to_owned();
    }
    let shown = without_escapes(output);
    shown.split_inclusive('\n').map(last_state).collect()
}

/// Removes control sequences (colors, cursor movements) and operating system commands (titles,
/// links). If a sequence does not end on its line, only its first two characters are removed, so
/// that its text stays.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('[') => rest = after_control_sequence(rest),
            Some(']') => rest = after_system_command(rest),
            // The names of character sets.
            Some('(' | ')') => drop(rest.next()),
            _ => {}
        }
    }
    out
}

/// Returns what follows a control sequence, which ends with a letter or one of a few signs.
fn after_control_sequence(text: Chars<'_>) -> Chars<'_> {
    let mut rest = text.clone();
    match rest.find(|c| !(' '..='?').contains(c)) {
        Some('@'..='~') => rest,
        _ => text,
    }
}

/// Returns what follows an operating system command, which ends with BEL, or with ESC and a
/// backslash.
fn after_system_command(text: Chars<'_>) -> Chars<'_> {
    let mut rest = text.clone();
    match rest.find(|c| matches!(c, '\u{7}' | '\u{1b}' | '\n')) {
        Some('\u{7}') => rest,
        Some('\u{1b}') if rest.next() == Some('\\') => rest,
        _ => text,
    }
}

/// Returns a line as it looks after its carriage returns and backspaces. What is overwritten by
/// nothing stays.
fn last_state(line: &str) -> String {
    let (line, end) = match line.strip_suffix("\r\n") {
        Some(line) => (line, "\r\n"),
        None => line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n")),
    };
    let last = line.rsplit('\r').find(|state| !state.trim().is_empty()).unwrap_or_default();
    let mut shown = String::with_capacity(last.len() + end.len());
    for c in last.chars() {
        match c {
            '\u{8}' => drop(shown.pop()),
            c => shown.push(c),
        }
    }
    shown + end
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn output_is_as_a_terminal_leaves_it() {
        for (output, expected) in [
            ("plain\n", "plain\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: no\n", "error: no\n"),
            ("10%\r50%\r100%\nend", "100%\nend"),
            ("10%\r50%\r", "50%"),
            ("a\r\u{1b}[Kb\r\n", "b\r\n"),
            ("\u{1b}]0;title\u{7}x \u{1b}]8;;u\u{1b}\\y", "x y"),
            ("b\u{8}bold \u{1b}(Bx", "bold x"),
            ("\u{1b}[", ""),
            ("\u{1b}]make\nerror\u{1b}[0m\n", "make\nerror\n"),
            ("\u{1b}]0;make", "0;make"),
            ("\u{1b}]make\u{1b}[0m", "make"),
            ("\u{1b}[1\n2\nx", "1\n2\nx"),
            ("one\r\n\r\ntwo", "one\r\n\r\ntwo"),
        ] {
            assert_eq!(plain(output), expected, "{output:?}");
        }
    }
}
