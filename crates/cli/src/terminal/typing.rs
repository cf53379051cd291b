//! From the bytes of a keyboard to lines, while the agent works. Keys are told apart here and not
//! by crossterm, whose reader cannot be stopped when the turn ends and waits for the rest of half a
//! key; what a key does is decided by `editing`.

use std::time::{Duration, Instant};

use reedline::{KeyCode, KeyModifiers};

use super::editing::{Draft, LineEditor};

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// The line as far as it has come.
    Begun(Draft),
    /// A line.
    Line(String),
    /// The keyboard is gone.
    End,
}

/// A lone Esc is not part of a key that comes later than this.
const ESCAPE: Duration = Duration::from_millis(50);

/// The line that is being typed.
#[derive(Debug, Default)]
pub struct Typing {
    editor: LineEditor,
    code: Code,
    /// When the last keys came.
    last: Option<Instant>,
    /// What is pasted, as far as it has come: line breaks are part of it.
    pasted: Option<Vec<u8>>,
}

/// How much of a key's code has come.
#[derive(Debug, Default)]
enum Code {
    #[default]
    None,
    Escape,
    /// What stands behind `ESC [` or `ESC O`.
    Sequence(Vec<u8>),
    /// The first bytes of a character.
    Character(Vec<u8>),
}

impl Typing {
    /// What more bytes come to.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let before = self.last.replace(Instant::now());
        if matches!(self.code, Code::Escape)
            && before.is_some_and(|before| before.elapsed() > ESCAPE)
        {
            self.code = Code::None;
        }
        let mut typed: Vec<Typed> =
            bytes.iter().filter_map(|byte| self.byte(*byte)).map(Typed::Line).collect();
        typed.push(Typed::Begun(self.draft()));
        typed
    }

    /// Goes on with another line; gives the one that was begun.
    pub fn swap(&mut self, line: String) -> String {
        let begun = self.editor.draft().text;
        self.editor.replace(line);
        begun
    }

    /// Lines that the arrow keys recall, the oldest first.
    pub fn remember(&mut self, lines: Vec<String>) {
        self.editor.remember(lines);
    }

    /// The line as far as it has come.
    pub fn draft(&self) -> Draft {
        self.editor.draft()
    }

    fn byte(&mut self, byte: u8) -> Option<String> {
        match std::mem::take(&mut self.code) {
            Code::None if byte == 0x1b => self.code = Code::Escape,
            Code::None => return self.plain(byte),
            Code::Escape if matches!(byte, b'[' | b'O') => self.code = Code::Sequence(Vec::new()),
            Code::Escape => {
                let (modifiers, key) = key(byte)?;
                return self.editor.press(modifiers | KeyModifiers::ALT, key);
            }
            Code::Sequence(mut code) => {
                code.push(byte);
                // It ends with a letter or a tilde.
                match byte {
                    b'@'..=b'~' => return self.sequence(&code),
                    _ => self.code = Code::Sequence(code),
                }
            }
            Code::Character(mut bytes) => {
                bytes.push(byte);
                return self.character(bytes);
            }
        }
        None
    }

    fn plain(&mut self, byte: u8) -> Option<String> {
        if let Some(pasted) = &mut self.pasted {
            match byte {
                b'\r' | b'\n' => pasted.push(b'\n'),
                b'\t' => pasted.push(b' '),
                0x00..0x20 | 0x7f => {}
                _ => pasted.push(byte),
            }
            return None;
        }
        match key(byte) {
            Some((modifiers, key)) => self.editor.press(modifiers, key),
            None => self.character(vec![byte]),
        }
    }

    /// A character of several bytes, once they are all there.
    fn character(&mut self, bytes: Vec<u8>) -> Option<String> {
        match std::str::from_utf8(&bytes) {
            Ok(text) => self.editor.insert(text.to_owned()),
            Err(error) if error.error_len().is_none() => self.code = Code::Character(bytes),
            Err(_) => self.editor.insert(char::REPLACEMENT_CHARACTER.to_string()),
        }
        None
    }

    fn sequence(&mut self, code: &[u8]) -> Option<String> {
        match code {
            b"200~" => self.pasted = Some(Vec::new()),
            b"201~" => {
                let pasted = self.pasted.take().unwrap_or_default();
                self.editor.insert(String::from_utf8_lossy(&pasted).into_owned());
            }
            _ => {
                let (modifiers, key) = special(code)?;
                return self.editor.press(modifiers, key);
            }
        }
        None
    }
}

/// The key of a single byte; none for a part of a longer character.
fn key(byte: u8) -> Option<(KeyModifiers, KeyCode)> {
    match byte {
        // Ctrl-J cannot be told from Enter here: the terminal makes them one.
        b'\r' | b'\n' => Some((KeyModifiers::NONE, KeyCode::Enter)),
        b'\t' => Some((KeyModifiers::NONE, KeyCode::Tab)),
        0x7f | 0x08 => Some((KeyModifiers::NONE, KeyCode::Backspace)),
        0x01..0x1b => Some((KeyModifiers::CONTROL, KeyCode::Char(char::from(byte - 1 + b'a')))),
        0x20..0x7f => Some((KeyModifiers::NONE, KeyCode::Char(char::from(byte)))),
        0x00 | 0x1b..0x20 => Some((KeyModifiers::NONE, KeyCode::Null)),
        0x80.. => None,
    }
}

/// The key of a sequence: `D`, `1;5D`, `3~`, `3;3~`.
fn special(code: &[u8]) -> Option<(KeyModifiers, KeyCode)> {
    let (last, numbers) = code.split_last()?;
    let numbers = std::str::from_utf8(numbers).ok()?;
    let (number, modifiers) = numbers.split_once(';').unwrap_or((numbers, "1"));
    let key = match (last, number) {
        (b'A', _) => KeyCode::Up,
        (b'B', _) => KeyCode::Down,
        (b'C', _) => KeyCode::Right,
        (b'D', _) => KeyCode::Left,
        (b'H', _) | (b'~', "1" | "7") => KeyCode::Home,
        (b'F', _) | (b'~', "4" | "8") => KeyCode::End,
        (b'~', "3") => KeyCode::Delete,
        _ => return None,
    };
    let bits = modifiers.parse::<u8>().ok()?.checked_sub(1)?;
    let modifier_bits =
        [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)];
    let held =
        modifier_bits.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, modifier)| modifier);
    Some((held.collect(), key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> Vec<Typed> {
        Typing::default().take(keys.as_bytes())
    }

    fn begun(text: &str) -> Typed {
        Typed::Begun(Draft::new(text))
    }

    fn line(text: &str) -> Typed {
        Typed::Line(text.to_owned())
    }

    #[test]
    fn enter_ends_a_line_and_the_next_one_begins() {
        assert_eq!(typed("in UTC\ran"), [line("in UTC"), begun("an")]);
        assert_eq!(typed("\r"), [line(""), begun("")]);
    }

    #[test]
    fn what_is_typed_can_be_taken_back() {
        assert_eq!(typed("nö\x7f\x7fyes"), [begun("yes")]);
        assert_eq!(typed("one two \x17x"), [begun("one x")]);
        assert_eq!(
            typed("潮\u{3000}水\x17"),
            [begun("潮\u{3000}")],
            "a blank may be more than one byte"
        );
        assert_eq!(typed("one\u{a0}two\x17"), [begun("one\u{a0}")]);
        assert_eq!(typed("one\x15two"), [begun("two")]);
    }

    #[test]
    fn the_cursor_moves_as_at_the_prompt() {
        assert_eq!(typed("one three\x1b[1;5Dtwo \x05!\r"), [line("one two three!"), begun("")]);
        assert_eq!(typed("ac\x1b[Db\x1b[H>\x1b[F<\r"), [line(">abc<"), begun("")]);
        assert_eq!(typed("axb\x1b[D\x7f\r"), [line("ab"), begun("")]);
        assert_eq!(typed("axb\x1bOD\x1bOD\x1b[3~\r"), [line("ab"), begun("")]);
        assert_eq!(typed("one two\x1bb\x0b\r"), [line("one"), begun("")], "Alt-B, Ctrl-K");
        assert_eq!(typed("one two\x1b\x7f\r"), [line("one"), begun("")], "Alt-Backspace");
        let Some(Typed::Begun(draft)) = typed("水位\x1b[D").pop() else { panic!() };
        assert_eq!(draft.parts(), ("水", "位"));
    }

    #[test]
    fn lines_from_before_are_recalled() {
        let mut typing = Typing::default();
        typing.remember(vec!["first".to_owned(), "second".to_owned()]);
        assert_eq!(typing.take(b"dra\x1b[A"), [begun("second")]);
        assert_eq!(typing.take(b"\x1b[A\x1b[A"), [begun("first")]);
        assert_eq!(typing.take(b"\x1b[B\x1b[B"), [begun("dra")]);
        assert_eq!(typing.take(b"ft\r\x1b[A"), [line("draft"), begun("draft")]);
    }

    #[test]
    fn keys_that_mean_nothing_here_are_passed_over() {
        assert_eq!(typed("a\x1b[A\x1b[1;5C\x1bOPb\x1bxc\x12\t"), [begun("abc")]);
    }

    #[test]
    fn what_is_pasted_is_one_line() {
        assert_eq!(typed("\x1b[200~one\rtwo\x1b[201~\r"), [line("one\ntwo"), begun("")]);
    }

    #[test]
    fn alt_enter_begins_another_line() {
        assert_eq!(typed("one\x1b\rtwo\x1b\nthree\r"), [line("one\ntwo\nthree"), begun("")]);
        assert_eq!(typed("one\x1b\r\x7f\r"), [line("one"), begun("")], "it can be taken back");
    }

    #[test]
    fn a_key_may_come_in_pieces() {
        let mut typing = Typing::default();
        let all: Vec<Typed> = "ö\x1b[A漢\r".bytes().flat_map(|byte| typing.take(&[byte])).collect();
        assert!(all.contains(&line("ö漢")), "{all:?}");
    }

    #[test]
    fn a_line_is_set_aside_and_taken_up_again() {
        let mut typing = Typing::default();
        typing.take(b"and th");
        assert_eq!(typing.swap(String::new()), "and th");
        assert_eq!(typing.take(b"y\r"), [line("y"), begun("")]);
        typing.swap("and th".to_owned());
        assert_eq!(typing.take(b"en"), [begun("and then")]);
    }

    #[test]
    fn an_escape_is_no_part_of_a_key_that_comes_later() {
        let mut typing = Typing { last: Some(Instant::now()), ..Typing::default() };
        typing.take(b"\x1b");
        std::thread::sleep(ESCAPE * 2);
        assert_eq!(typing.take(b"yes"), [begun("yes")]);
    }
}
