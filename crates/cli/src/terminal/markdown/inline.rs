//! What the signs within a line say: bold, slanted, struck out, code, links.

use std::collections::HashMap;

use anstyle::Effects;

use super::rows::Span;
use super::{CODE, DIM};

/// A part of a line.
enum Piece {
    Text(String),
    Code(String),
    /// Where a link leads.
    Address(String),
    /// A sign that is text unless it gets its partner.
    Mark {
        sign: &'static str,
        opens: bool,
        closes: bool,
    },
    /// A sign that has its partner.
    Toggle(Effects),
}

/// A text with what its signs say about it, on top of `base`.
pub(super) fn inline(text: &str, base: Effects) -> Vec<Span> {
    let mut pieces = pieces(text);
    pair(&mut pieces);
    let mut active = Effects::new();
    let mut spans = Vec::new();
    for piece in pieces {
        let effects = base | active;
        match piece {
            Piece::Text(text) => spans.push(Span::new(effects.into(), text)),
            Piece::Mark { sign, .. } => spans.push(Span::new(effects.into(), sign)),
            Piece::Code(code) => spans.push(Span::new(CODE.effects(effects), code)),
            Piece::Address(address) => spans.push(Span::new(DIM, format!(" ({address})"))),
            Piece::Toggle(effect) => active = active.set(effect, !active.contains(effect)),
        }
    }
    spans
}

fn pieces(text: &str) -> Vec<Piece> {
    let chars: Vec<char> = text.chars().collect();
    let partners = backticks(&chars);
    let mut pieces = Vec::new();
    let mut bracket = None;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1);
        at += match c {
            '\\' if next.is_some_and(char::is_ascii_punctuation) => add(&mut pieces, next, 2),
            '`' => {
                let length = run(&chars, at, c);
                if let Some(partner) = partners.get(&at) {
                    pieces.push(Piece::Code(code(chars.get(at + length..*partner).unwrap_or_default())));
                    partner + length - at
                } else {
                    add(&mut pieces, chars.iter().skip(at).take(length), length)
                }
            }
            '*' | '_' | '~' => {
                let length = run(&chars, at, c);
                let before = at.checked_sub(1).and_then(|before| chars.get(before));
                let marks = marks(c, length, before, chars.get(at + length));
                if marks.is_empty() {
                    add(&mut pieces, chars.iter().skip(at).take(length), length)
                } else {
                    pieces.extend(marks);
                    length
                }
            }
            '[' => {
                bracket = Some(pieces.len());
                pieces.push(Piece::Mark { sign: "[", opens: false, closes: false });
                1
            }
            // The bracket is used up either way, or a line of many would be searched over and over.
            ']' if next == Some(&'(')
                && let Some(bracket) = bracket.take().and_then(|bracket| pieces.get_mut(bracket))
                && let Some(address) = address(chars.get(at + 2..).unwrap_or_default()) =>
            {
                *bracket = Piece::Text(String::new());
                pieces.push(Piece::Address(address.iter().collect()));
                address.len() + 3
            }
            _ => add(&mut pieces, [&c], 1),
        };
    }
    pieces
}

/// Adds characters as text; so many were read for it.
fn add<'a>(pieces: &mut Vec<Piece>, chars: impl IntoIterator<Item = &'a char>, read: usize) -> usize {
    if let Some(Piece::Text(text)) = pieces.last_mut() {
        text.extend(chars);
    } else {
        pieces.push(Piece::Text(chars.into_iter().collect()));
    }
    read
}

fn run(chars: &[char], at: usize, sign: char) -> usize {
    chars.iter().skip(at).take_while(|c| **c == sign).count()
}

/// For each run of backticks the next one of the same length. Found for all at once: a search from each would take
/// too long in a line of nothing else.
fn backticks(chars: &[char]) -> HashMap<usize, usize> {
    let (mut partners, mut latest) = (HashMap::new(), HashMap::new());
    let mut at = 0;
    while at < chars.len() {
        let length = run(chars, at, '`');
        if length > 0
            && let Some(before) = latest.insert(length, at)
        {
            partners.insert(before, at);
        }
        at += length.max(1);
    }
    partners
}

/// What code says: blanks at both ends only keep its own backticks from the signs.
fn code(chars: &[char]) -> String {
    match chars {
        [' ', inner @ .., ' '] if inner.iter().any(|c| *c != ' ') => inner.iter().collect(),
        _ => chars.iter().collect(),
    }
}

/// What a run of signs may be, by what is beside it.
fn marks(sign: char, length: usize, before: Option<&char>, behind: Option<&char>) -> Vec<Piece> {
    let signs: &[&str] = match (sign, length) {
        ('*', 1) => &["*"],
        ('*', 2) => &["**"],
        ('*', 3) => &["**", "*"],
        ('_', 1) => &["_"],
        ('_', 2) => &["__"],
        ('_', 3) => &["__", "_"],
        ('~', 2) => &["~~"],
        _ => &[],
    };
    let touches = |c: Option<&char>| c.is_some_and(|c| !c.is_whitespace());
    // An underscore within a word is part of a name.
    let free = |c: Option<&char>| sign != '_' || !c.is_some_and(|c| c.is_alphanumeric());
    let (opens, closes) = (touches(behind) && free(before), touches(before) && free(behind));
    signs.iter().map(|sign| Piece::Mark { sign, opens, closes }).collect()
}

/// The address up to the parenthesis that closes it.
fn address(chars: &[char]) -> Option<&[char]> {
    let mut depth = 0_usize;
    for (at, c) in chars.iter().enumerate() {
        match c {
            // No part of an address, and so no stretch is searched twice.
            '[' => return None,
            '(' => depth += 1,
            ')' if depth == 0 => return chars.get(..at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Turns the signs that have a partner into what they do. Pairs may cross: a terminal knows no nesting.
fn pair(pieces: &mut [Piece]) {
    let mut open = HashMap::new();
    for at in 0..pieces.len() {
        let Some(&Piece::Mark { sign, opens, closes }) = pieces.get(at) else { continue };
        if let Some(start) = open.get(sign).copied().filter(|_| closes) {
            open.remove(sign);
            let effect = match sign {
                "**" | "__" => Effects::BOLD,
                "*" | "_" => Effects::ITALIC,
                _ => Effects::STRIKETHROUGH,
            };
            for end in [start, at] {
                if let Some(piece) = pieces.get_mut(end) {
                    *piece = Piece::Toggle(effect);
                }
            }
        } else if opens {
            open.insert(sign, at);
        }
    }
}
