//! From keys to lines, as far as it takes to say something in passing: text, backspace, Ctrl-U, Ctrl-W, pasting, Enter, Alt-Enter.

use std::time::{Duration, Instant};

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// The line as far as it has come.
    Begun(String),
    /// A line.
    Line(String),
    /// The keyboard is gone.
    End,
}

/// A lone Esc is no part of the key that comes later than this.
const ESCAPE: Duration = Duration::from_millis(50);

/// The line that is being typed.
#[derive(Debug, Default)]
pub struct Typing {
    text: Vec<u8>,
    code: Code,
    /// When the last keys came.
    last: Option<Instant>,
    /// Line breaks are part of what is pasted.
    pastes: bool,
}

/// How much of a key's code has come.
#[derive(Debug, Default)]
enum Code {
    #[default]
    None,
    Escape,
    /// What stands behind `ESC [`.
    Sequence(Vec<u8>),
}

impl Typing {
    /// What more keys come to.
    pub fn take(&mut self, keys: &[u8]) -> Vec<Typed> {
        let before = self.last.replace(Instant::now());
        if matches!(self.code, Code::Escape) && before.is_some_and(|before| before.elapsed() > ESCAPE) {
            self.code = Code::None;
        }
        let mut typed = Vec::new();
        for &key in keys {
            match std::mem::take(&mut self.code) {
                Code::Escape => match key {
                    b'[' | b'O' => self.code = Code::Sequence(Vec::new()),
                    // Alt-Enter. Ctrl-J cannot be told from Enter here: the terminal makes them one.
                    b'\r' | b'\n' => self.text.push(b'\n'),
                    // Any other key with Alt says nothing here.
                    _ => {}
                },
                Code::Sequence(mut code) => {
                    code.push(key);
                    match code.as_slice() {
                        b"200~" => self.pastes = true,
                        b"201~" => self.pastes = false,
                        // It ends with a letter or a tilde: an arrow, for example.
                        [.., b'@'..=b'~'] => {}
                        _ => self.code = Code::Sequence(code),
                    }
                }
                Code::None => typed.extend(self.press(key)),
            }
        }
        typed.push(Typed::Begun(self.line()));
        typed
    }

    /// Goes on with another line; gives the one that was begun.
    pub fn swap(&mut self, line: String) -> String {
        let begun = self.line();
        self.text = line.into_bytes();
        begun
    }

    fn press(&mut self, key: u8) -> Option<Typed> {
        match key {
            b'\r' | b'\n' if self.pastes => self.text.push(b'\n'),
            b'\r' | b'\n' => {
                let line = self.line().trim().to_owned();
                self.text.clear();
                return Some(Typed::Line(line));
            }
            0x1b => self.code = Code::Escape,
            0x7f | 0x08 => {
                let mut line = self.line();
                line.pop();
                self.text = line.into_bytes();
            }
            0x15 => self.text.clear(),
            0x17 => {
                let mut line = self.line();
                let blank = line.trim_end().char_indices().rev().find(|(_, c)| c.is_whitespace());
                line.truncate(blank.map_or(0, |(at, blank)| at + blank.len_utf8()));
                self.text = line.into_bytes();
            }
            b'\t' => self.text.push(b' '),
            0..0x20 => {}
            _ => self.text.push(key),
        }
        None
    }

    /// The line as far as it has come.
    pub fn line(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> Vec<Typed> {
        Typing::default().take(keys.as_bytes())
    }

    fn begun(text: &str) -> Typed {
        Typed::Begun(text.to_owned())
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
        assert_eq!(typed("潮\u{3000}水\x17"), [begun("潮\u{3000}")], "a blank may be more than one byte");
        assert_eq!(typed("one\u{a0}two\x17"), [begun("one\u{a0}")]);
        assert_eq!(typed("one\x15two"), [begun("two")]);
    }

    #[test]
    fn keys_that_mean_nothing_here_are_passed_over() {
        assert_eq!(typed("a\x1b[A\x1b[1;5C\x1bOPb\x1bxc\x01"), [begun("abc")]);
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
