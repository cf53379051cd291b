//! Turns the bytes of the keyboard into lines while the agent works. Keys are decoded here and not
//! by crossterm, whose reader cannot be stopped when the turn ends and blocks on an incomplete key.
//! `editing` decides what a key does.

use std::time::{Duration, Instant};

use reedline::{KeyCode, KeyModifiers};

use super::editing::{Draft, LineEditor};

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line that was not sent yet.
    Draft(Draft),
    /// A submitted line.
    Line(String),
    /// The keyboard has ended.
    End,
}

/// An Esc is a key by itself if nothing follows within this time.
const ESCAPE: Duration = Duration::from_millis(50);

/// Decodes keys, and holds the line being typed.
#[derive(Debug, Default)]
pub struct Typing {
    editor: LineEditor,
    code: Code,
    /// When the last bytes arrived.
    last: Option<Instant>,
    /// The text of an unfinished paste, including its line breaks.
    pasted: Option<Vec<u8>>,
}

/// The part of a key's code that has arrived.
#[derive(Debug, Default)]
enum Code {
    #[default]
    None,
    Escape,
    /// The bytes after `ESC [` or `ESC O`.
    Sequence(Vec<u8>),
    /// The first bytes of a character.
    Character(Vec<u8>),
}

impl Typing {
    /// Decodes more bytes. Returns the submitted lines, then the unfinished one.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let before = self.last.replace(Instant::now());
        if matches!(self.code, Code::Escape)
            && before.is_some_and(|before| before.elapsed() > ESCAPE)
        {
            self.code = Code::None;
        }
        let mut typed: Vec<Typed> =
            bytes.iter().filter_map(|byte| self.byte(*byte)).map(Typed::Line).collect();
        typed.push(Typed::Draft(self.draft()));
        typed
    }

    /// Replaces the line. Returns the old one.
    pub fn swap(&mut self, line: String) -> String {
        let draft = self.editor.draft().text;
        self.editor.replace(line);
        draft
    }

    /// Sets the lines that the arrow keys recall, the oldest first.
    pub fn set_history(&mut self, lines: Vec<String>) {
        self.editor.set_history(lines);
    }

    /// Returns the unfinished line.
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

    /// Inserts a character once all of its bytes have arrived.
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

/// Returns the key of a single byte; none for a part of a longer character.
fn key(byte: u8) -> Option<(KeyModifiers, KeyCode)> {
    match byte {
        // Ctrl-J and Enter are the same byte in this mode of the terminal.
        b'\r' | b'\n' => Some((KeyModifiers::NONE, KeyCode::Enter)),
        b'\t' => Some((KeyModifiers::NONE, KeyCode::Tab)),
        0x7f | 0x08 => Some((KeyModifiers::NONE, KeyCode::Backspace)),
        0x01..0x1b => Some((KeyModifiers::CONTROL, KeyCode::Char(char::from(byte - 1 + b'a')))),
        0x20..0x7f => Some((KeyModifiers::NONE, KeyCode::Char(char::from(byte)))),
        0x00 | 0x1b..0x20 => Some((KeyModifiers::NONE, KeyCode::Null)),
        0x80.. => None,
    }
}

/// Returns the key of a sequence: `D`, `1;5D`, `3~`, `3;3~`.
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
        Typing::default().feed(keys.as_bytes())
    }

    fn draft(text: &str) -> Typed {
        Typed::Draft(Draft::new(text))
    }

    fn line(text: &str) -> Typed {
        Typed::Line(text.to_owned())
    }

    #[test]
    fn enter_submits_a_line_and_starts_the_next() {
        assert_eq!(typed("in UTC\ran"), [line("in UTC"), draft("an")]);
        assert_eq!(typed("\r"), [line(""), draft("")]);
    }

    #[test]
    fn typed_text_can_be_deleted() {
        assert_eq!(typed("nö\x7f\x7fyes"), [draft("yes")]);
        assert_eq!(typed("one two \x17x"), [draft("one x")]);
        assert_eq!(
            typed("潮\u{3000}水\x17"),
            [draft("潮\u{3000}")],
            "a space may be more than one byte"
        );
        assert_eq!(typed("one\u{a0}two\x17"), [draft("one\u{a0}")]);
        assert_eq!(typed("one\x15two"), [draft("two")]);
    }

    #[test]
    fn the_cursor_moves_as_at_the_prompt() {
        assert_eq!(typed("one three\x1b[1;5Dtwo \x05!\r"), [line("one two three!"), draft("")]);
        assert_eq!(typed("ac\x1b[Db\x1b[H>\x1b[F<\r"), [line(">abc<"), draft("")]);
        assert_eq!(typed("axb\x1b[D\x7f\r"), [line("ab"), draft("")]);
        assert_eq!(typed("axb\x1bOD\x1bOD\x1b[3~\r"), [line("ab"), draft("")]);
        assert_eq!(typed("one two\x1bb\x0b\r"), [line("one"), draft("")], "Alt-B, Ctrl-K");
        assert_eq!(typed("one two\x1b\x7f\r"), [line("one"), draft("")], "Alt-Backspace");
        let Some(Typed::Draft(draft)) = typed("水位\x1b[D").pop() else { panic!() };
        assert_eq!(draft.parts(), ("水", "位"));
    }

    #[test]
    fn earlier_lines_are_recalled() {
        let mut typing = Typing::default();
        typing.set_history(vec!["first".to_owned(), "second".to_owned()]);
        assert_eq!(typing.feed(b"dra\x1b[A"), [draft("second")]);
        assert_eq!(typing.feed(b"\x1b[A\x1b[A"), [draft("first")]);
        assert_eq!(typing.feed(b"\x1b[B\x1b[B"), [draft("dra")]);
        assert_eq!(typing.feed(b"ft\r\x1b[A"), [line("draft"), draft("draft")]);
    }

    #[test]
    fn unsupported_keys_are_ignored() {
        assert_eq!(typed("a\x1b[A\x1b[1;5C\x1bOPb\x1bxc\x12\t"), [draft("abc")]);
    }

    #[test]
    fn a_paste_is_one_line() {
        assert_eq!(typed("\x1b[200~one\rtwo\x1b[201~\r"), [line("one\ntwo"), draft("")]);
    }

    #[test]
    fn alt_enter_inserts_a_line_break() {
        assert_eq!(typed("one\x1b\rtwo\x1b\nthree\r"), [line("one\ntwo\nthree"), draft("")]);
        assert_eq!(typed("one\x1b\r\x7f\r"), [line("one"), draft("")], "it can be deleted");
    }

    #[test]
    fn a_key_may_arrive_in_pieces() {
        let mut typing = Typing::default();
        let all: Vec<Typed> = "ö\x1b[A漢\r".bytes().flat_map(|byte| typing.feed(&[byte])).collect();
        assert!(all.contains(&line("ö漢")), "{all:?}");
    }

    #[test]
    fn a_draft_can_be_replaced_and_restored() {
        let mut typing = Typing::default();
        typing.feed(b"and th");
        assert_eq!(typing.swap(String::new()), "and th");
        assert_eq!(typing.feed(b"y\r"), [line("y"), draft("")]);
        typing.swap("and th".to_owned());
        assert_eq!(typing.feed(b"en"), [draft("and then")]);
    }

    #[test]
    fn an_escape_is_not_part_of_a_later_key() {
        let mut typing = Typing { last: Some(Instant::now()), ..Typing::default() };
        typing.feed(b"\x1b");
        std::thread::sleep(ESCAPE * 2);
        assert_eq!(typing.feed(b"yes"), [draft("yes")]);
    }
}
