//! The splitting rules of both vocabularies, as scanners instead of regular expressions.
//!
//! Each function returns the number of bytes of the first piece of a text that is not empty. The
//! regular expressions are quoted next to the code that replaces them; `tests/vocabularies.rs`
//! compares both with the reference implementation.

use super::class::{Class, at};

/// Returns the length of the first piece by the rules of o200k.
pub(super) fn o200k(text: &str) -> usize {
    let Some((class, length)) = at(text, 0) else { return 0 };
    // The two alternatives for words, each tried with an opening character and then without:
    // [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    // [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    let opened = if class.opens_word() { word(text, length) } else { Word::None };
    let bare = if opened.is_mixed() || !(class.is_letter() || class == Class::Mark) {
        Word::None
    } else {
        word(text, 0)
    };
    let end = match (opened, bare) {
        (Word::Mixed(end), _)
        | (_, Word::Mixed(end))
        | (Word::Upper(end), _)
        | (_, Word::Upper(end)) => Some(end),
        (Word::None, Word::None) => None,
    };
    if let Some(end) = end {
        return end + contraction(text, end);
    }
    match class {
        Class::Number => numbers(text),
        _ => {
            symbols(text, class, |byte| matches!(byte, b'\r' | b'\n' | b'/')).unwrap_or_else(|| {
                let run = space(text);
                //   \s*[\r\n]+|\s+(?!\S)|\s+
                run.through_newline.unwrap_or_else(|| run.before_last(text))
            })
        }
    }
}

/// Returns the length of the first piece by the rules of cl100k.
pub(super) fn cl100k(text: &str) -> usize {
    let Some((class, length)) = at(text, 0) else { return 0 };
    //   '(?i:[sdmt]|ll|ve|re)
    let contraction = contraction(text, 0);
    if contraction > 0 {
        return contraction;
    }
    //   [^\r\n\p{L}\p{N}]?+\p{L}++
    let from = if class.opens_word() { length } else { 0 };
    let end = run(text, from, Class::is_letter);
    if end > from {
        return end;
    }
    match class {
        Class::Number => numbers(text),
        _ => symbols(text, class, |byte| matches!(byte, b'\r' | b'\n')).unwrap_or_else(|| {
            let run = space(text);
            //   \s++$|\s*[\r\n]|\s+(?!\S)|\s
            if run.end == text.len() {
                run.end
            } else {
                run.through_newline.unwrap_or_else(|| run.before_last(text))
            }
        }),
    }
}

/// Which of the two alternatives for words matches, with the end of the word.
#[derive(Clone, Copy)]
enum Word {
    /// The first alternative: it ends with a lower-case letter, a caseless one or a mark.
    Mixed(usize),
    /// The second alternative: upper-case letters only.
    Upper(usize),
    None,
}

impl Word {
    const fn is_mixed(self) -> bool {
        matches!(self, Self::Mixed(_))
    }
}

fn word(text: &str, from: usize) -> Word {
    let mut end = from;
    let mut after_caseless = None;
    let next = loop {
        match at(text, end) {
            Some((Class::Upper, length)) => end += length,
            Some((Class::Caseless | Class::Mark, length)) => {
                end += length;
                after_caseless = Some(end);
            }
            Some((class, _)) => break class,
            None => break Class::Symbol,
        }
    };
    if next == Class::Lower {
        return Word::Mixed(run(text, end, |class| {
            matches!(class, Class::Lower | Class::Caseless | Class::Mark)
        }));
    }
    // The expression backtracks over upper-case letters until the word ends with another character.
    match after_caseless {
        Some(end) => Word::Mixed(end),
        None if end > from => Word::Upper(end),
        None => Word::None,
    }
}

/// Returns the end of the run of characters of some classes.
#[inline]
fn run(text: &str, from: usize, is_part: impl Fn(Class) -> bool) -> usize {
    let mut end = from;
    while let Some((class, length)) = at(text, end) {
        if !is_part(class) {
            break;
        }
        end += length;
    }
    end
}

/// Returns the length of a contraction such as `'ll` in upper or lower case, or 0.
fn contraction(text: &str, position: usize) -> usize {
    let bytes = text.as_bytes().get(position..).unwrap_or_default();
    let Some((b'\'', letters)) = bytes.split_first() else { return 0 };
    match letters {
        [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [b'l' | b'L', b'l' | b'L', ..] => 3,
        // The long s folds to s.
        [0xc5, 0xbf, ..] => 3,
        _ => 0,
    }
}

///   \p{N}{1,3}
fn numbers(text: &str) -> usize {
    let mut end = 0;
    for _ in 0..3 {
        match at(text, end) {
            Some((Class::Number, length)) => end += length,
            _ => break,
        }
    }
    end
}

///   ` ?[^\s\p{L}\p{N}]+[\r\n/]*`, with the bytes that may follow
fn symbols(text: &str, first: Class, may_follow: impl Fn(u8) -> bool) -> Option<usize> {
    let from = if text.as_bytes().first() == Some(&b' ') { 1 } else { 0 };
    if from == 0 && !first.is_symbol() {
        return None;
    }
    let end = run(text, from, Class::is_symbol);
    let after = text.as_bytes().get(end..).unwrap_or_default();
    (end > from).then(|| end + after.iter().take_while(|&&byte| may_follow(byte)).count())
}

/// A run of white space at the beginning of a text.
struct Space {
    end: usize,
    /// The end of its last newline.
    through_newline: Option<usize>,
    /// Where its last character begins.
    last: usize,
}

fn space(text: &str) -> Space {
    let mut space = Space { end: 0, through_newline: None, last: 0 };
    while let Some((class, length)) = at(text, space.end).filter(|(class, _)| class.is_space()) {
        space.last = space.end;
        space.end += length;
        if class == Class::Newline {
            space.through_newline = Some(space.end);
        }
    }
    space
}

impl Space {
    /// Returns the end of the run without its last character, which belongs to the text after it. A
    /// run of one character stays whole.
    fn before_last(&self, text: &str) -> usize {
        if self.end == text.len() || self.last == 0 { self.end } else { self.last }
    }
}
