//! The character classes that the splitting rules distinguish.

use unicode_general_category::{GeneralCategory, get_general_category};

/// A character class. The rules are written in terms of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// An upper-case or title-case letter.
    Upper,
    /// A lower-case letter.
    Lower,
    /// A letter without case, such as a Chinese character.
    Caseless,
    /// A combining mark. In o200k it can be part of a word; in cl100k it is a symbol.
    Mark,
    /// A digit or another number of Unicode.
    Number,
    /// `\r` or `\n`.
    Newline,
    /// Any other white space.
    Space,
    /// Everything else.
    Symbol,
}

impl Class {
    pub(super) const fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Caseless)
    }

    pub(super) const fn is_space(self) -> bool {
        matches!(self, Self::Newline | Self::Space)
    }

    /// Returns whether it is neither white space nor a letter nor a number.
    pub(super) const fn is_symbol(self) -> bool {
        matches!(self, Self::Mark | Self::Symbol)
    }

    /// Returns whether one such character may precede a word.
    pub(super) const fn opens_word(self) -> bool {
        matches!(self, Self::Space | Self::Mark | Self::Symbol)
    }

    const fn of_ascii(byte: u8) -> Self {
        match byte {
            b'A'..=b'Z' => Self::Upper,
            b'a'..=b'z' => Self::Lower,
            b'0'..=b'9' => Self::Number,
            b'\r' | b'\n' => Self::Newline,
            b' ' | b'\t' | 0x0b | 0x0c => Self::Space,
            _ => Self::Symbol,
        }
    }

    fn of(character: char) -> Self {
        use GeneralCategory as Category;
        // Most non-ASCII text is in these blocks, and the table lookup is slow.
        if matches!(character, '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}') {
            return Self::Caseless;
        }
        if character.is_whitespace() {
            return Self::Space;
        }
        match get_general_category(character) {
            Category::UppercaseLetter | Category::TitlecaseLetter => Self::Upper,
            Category::LowercaseLetter => Self::Lower,
            Category::ModifierLetter | Category::OtherLetter => Self::Caseless,
            Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => {
                Self::Mark
            }
            Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber => {
                Self::Number
            }
            _ => Self::Symbol,
        }
    }
}

const ASCII: [Class; 128] = {
    let mut classes = [Class::Symbol; 128];
    let mut byte = 0;
    while byte < 128 {
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        #[expect(clippy::indexing_slicing, reason = "checked at compile time")]
        {
            classes[byte] = Class::of_ascii(byte as u8);
        }
        byte += 1;
    }
    classes
};

/// Returns the class and the length in bytes of the character at a byte offset, or `None` at the
/// end.
#[inline]
pub(super) fn at(text: &str, position: usize) -> Option<(Class, usize)> {
    let byte = *text.as_bytes().get(position)?;
    match ASCII.get(usize::from(byte)) {
        Some(class) => Some((*class, 1)),
        None => {
            let character = text.get(position..)?.chars().next()?;
            Some((Class::of(character), character.len_utf8()))
        }
    }
}
