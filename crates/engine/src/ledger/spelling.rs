//! Spellings of one value: `ORD-4711` and `ord-4711`, `12,345.67` and `12345.67`, a commit and its
//! short form.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::value::{self, Kind};

/// A word of this many hexadecimal digits may be a hash that was shortened elsewhere.
const MIN_HASH: usize = 8;

/// Returns whether a value means the same in both cases: an e-mail address, a hash, or an id such
/// as `ORD-4711`. In the names of code the case matters.
fn ignores_case(value: &str, kind: Kind) -> bool {
    let is_ticket = || {
        let is_part =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        value.contains('-') && value.split('-').all(is_part)
    };
    match kind {
        Kind::Hash => true,
        Kind::Id => is_ticket(),
        Kind::Link => value.contains('@') && !value.contains("://"),
        _ => false,
    }
}

/// Returns whether commas group the digits of a number by thousands.
fn groups_thousands(number: &str) -> bool {
    let whole = number.split_once('.').map_or(number, |(whole, _)| whole);
    let mut groups = whole.trim_start_matches('-').split(',');
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first =
        groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && is_digits(first));
    let mut rest = groups.peekable();
    first && rest.peek().is_some() && rest.all(|group| group.len() == 3 && is_digits(group))
}

/// Returns the canonical form of a value, or `None` if the value is already written in it.
pub(super) fn common_form(value: &str, kind: Kind) -> Option<Cow<'_, str>> {
    let plain = value::plain(value);
    if plain.len() < value.len() {
        return Some(Cow::Borrowed(plain));
    }
    if kind == Kind::Number {
        return groups_thousands(value).then(|| Cow::Owned(value.replace(',', "")));
    }
    let has_capital = value.bytes().any(|byte| byte.is_ascii_uppercase());
    (has_capital && ignores_case(value, kind)).then(|| Cow::Owned(value.to_ascii_lowercase()))
}

/// The values of a text whose spelling may differ elsewhere.
#[derive(Debug, Default)]
pub(super) struct Spellings<'a> {
    /// The forms that they share with their other spellings.
    forms: FxHashSet<String>,
    hashes: Vec<&'a str>,
}

impl<'a> Spellings<'a> {
    /// Adds a word of the text.
    pub(super) fn add(&mut self, word: &'a str) {
        if word.len() >= MIN_HASH && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            self.hashes.push(word);
        }
        // Most words end here, because to find the kind of a word takes longer.
        let joins = word.bytes().any(|byte| matches!(byte, b'-' | b'@' | b','));
        let is_shout = || word.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b',');
        if joins
            && is_shout()
            && let Some(form) = value::kind(word).and_then(|kind| common_form(word, kind))
        {
            self.forms.insert(form.into_owned());
        }
    }

    /// Returns whether the text has this form of a value, in any spelling.
    pub(super) fn has(&self, form: &str, kind: Kind) -> bool {
        self.forms.contains(form)
            || kind == Kind::Hash && self.hashes.iter().any(|hash| hash.starts_with(form))
    }
}
