//! Finds the values of a text: its identifier-like words, as the retention measure defines them.

use crate::tokens::is_cjk;

/// The kind of a value, as its characters suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A path from the root or the home directory.
    AbsolutePath,
    /// A relative path.
    RelativePath,
    /// A file name without a directory.
    File,
    /// A snake_case or camelCase name.
    Symbol,
    /// Names joined by dots.
    Dotted,
    /// A hash or id in hexadecimal digits.
    Hash,
    /// Letters with digits.
    Id,
    /// Four digits or more.
    Number,
    /// A URL or an e-mail address.
    Link,
    /// Chinese, Japanese or Korean text.
    Cjk,
}

const MIN_LENGTH: usize = 4;
const MAX_LENGTH: usize = 200;

/// Words that look like values but are not useful.
const IGNORED: [&str; 6] = [
    "/dev/null",
    "dev/null",
    "origin/main",
    "in_progress",
    "files_with_matches",
    "general-purpose",
];

/// Returns the identifier-like words of a text, in their order. Symbols that tools print next to
/// line numbers, columns and bullets separate words too. Measurements (`775.00ms`, `16px`) are left
/// out: later steps do not need them.
pub fn values(text: &str) -> impl Iterator<Item = (&str, Kind)> {
    text.split(|c| is_separator(c) || matches!(c, '→' | '│' | '·' | '•' | '✓' | '✗' | '…'))
        .filter(|word| !is_plain(word))
        .filter_map(|word| {
            let word = without_location(strip(word));
            kind(word).filter(|_| !is_measure(word)).map(|kind| (word, kind))
        })
}

/// Returns the words of a text, without surrounding punctuation.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_separator).map(strip)
}

/// Returns whether a word is certainly not a value: it is short, or only letters without a capital
/// in the middle. Most words are, and this is much faster than [`kind`].
fn is_plain(word: &str) -> bool {
    let mut was_lower = false;
    word.len() < MIN_LENGTH
        || word.bytes().all(|byte| {
            let has_capital = was_lower && byte.is_ascii_uppercase();
            was_lower = byte.is_ascii_lowercase();
            byte.is_ascii_alphabetic() && !has_capital
        })
}

/// The ASCII characters that separate words, one bit each.
const ASCII_SEPARATORS: u128 = {
    let separators = b"\t\n\x0b\x0c\r \"'`,;(){}[]<>|&=*$!?\\\0";
    let mut bits = 0;
    let mut rest = separators.as_slice();
    while let [first, others @ ..] = rest {
        bits |= 1 << *first;
        rest = others;
    }
    bits
};

const fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return ASCII_SEPARATORS >> c as u32 & 1 == 1;
    }
    c.is_whitespace() || matches!(c, '，' | '。' | '；' | '：' | '、' | '（' | '）' | '“' | '”')
}

fn strip(word: &str) -> &str {
    let ends = ['.', ':', '#', '-', '/', ' '];
    if word.starts_with('/') { word.trim_end_matches(ends) } else { word.trim_matches(ends) }
}

/// Removes a location: `src/a.rs:12:fn` becomes `src/a.rs`, because the line will differ next time.
fn without_location(word: &str) -> &str {
    match word.split_once(':') {
        Some((file, rest))
            if rest.starts_with(|c: char| c.is_ascii_digit()) || has_extension(file) =>
        {
            file
        }
        _ => word,
    }
}

/// Returns the kind of a word, or `None` if it is not a value.
#[must_use]
pub fn kind(word: &str) -> Option<Kind> {
    if word.len() < MIN_LENGTH || word.len() > MAX_LENGTH * 4 || IGNORED.contains(&word) {
        return None;
    }
    if word.is_ascii() { ascii_kind(word) } else { other_kind(word) }
}

fn other_kind(word: &str) -> Option<Kind> {
    let length = word.chars().count();
    if !(MIN_LENGTH..=MAX_LENGTH).contains(&length) {
        return None;
    }
    if word.chars().any(is_cjk) {
        return Some(Kind::Cjk);
    }
    ascii_kind(word)
}

fn ascii_kind(word: &str) -> Option<Kind> {
    if word.len() > MAX_LENGTH && word.is_ascii() {
        return None;
    }
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let has_letter = word.chars().any(char::is_alphabetic);
    if !has_letter {
        return (digits >= 4 && is_number(word)).then_some(Kind::Number);
    }
    if is_flag(word) {
        return None;
    }
    if word.contains("://") || word.contains('@') {
        return Some(Kind::Link);
    }
    if word.trim_matches('/').contains('/') {
        let absolute = word.starts_with('/') || word.starts_with("~/");
        return Some(if absolute { Kind::AbsolutePath } else { Kind::RelativePath });
    }
    if digits > 0 {
        return Some(kind_with_digits(word));
    }
    if has_extension(word) {
        return Some(if word.matches('.').count() > 1 { Kind::Dotted } else { Kind::File });
    }
    let is_name = word.trim_matches('_').contains('_') || has_camel(word);
    is_name.then(|| if word.contains('.') { Kind::Dotted } else { Kind::Symbol })
}

fn kind_with_digits(word: &str) -> Kind {
    let hex = word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if hex && word.len() >= 7 {
        Kind::Hash
    } else if has_extension(word) {
        Kind::File
    } else if word.contains('.') {
        Kind::Dotted
    } else if word.contains('_') || has_camel(word) {
        Kind::Symbol
    } else {
        Kind::Id
    }
}

/// `-?\d[\d.,:\-/]*\d`
fn is_number(word: &str) -> bool {
    let body = word.strip_prefix('-').unwrap_or(word);
    body.starts_with(|c: char| c.is_ascii_digit())
        && body.ends_with(|c: char| c.is_ascii_digit())
        && body.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '-' | '/'))
}

/// Returns whether a word is a number with a unit of time or size.
fn is_measure(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    unit.len() < word.len() && ["ms", "s", "px", "rem", "kB", "KB", "MB", "GB"].contains(&unit)
}

/// `--like-this`
fn is_flag(word: &str) -> bool {
    word.starts_with('-') && word.chars().all(|c| c == '-' || c.is_ascii_lowercase())
}

fn has_extension(word: &str) -> bool {
    let mut bytes = word.bytes().rev();
    let Some(length) = bytes.by_ref().take(6).position(|byte| !byte.is_ascii_alphabetic()) else {
        return false;
    };
    let is_dot = word.as_bytes().get(word.len() - length - 1) == Some(&b'.');
    length > 0 && is_dot && bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn has_camel(word: &str) -> bool {
    word.as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
}

/// Returns the pieces of a word: the ends and the directories of a path, the same for dotted names,
/// and every single name.
pub(super) fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let joints = word.match_indices(['/', '.', ':']).map(|(at, _)| at).filter(|&at| at > 0);
    let ends = joints.flat_map(move |at| [word.get(at + 1..), word.get(..at)]).flatten();
    let names = word.split(['/', '.', ':', '#', '@']);
    // Longer pieces are never values, and encoded data can have very many of them.
    ends.chain(names)
        .filter(move |piece| (MIN_LENGTH..word.len().min(MAX_LENGTH * 4)).contains(&piece.len()))
}

/// Returns the case-insensitive hashes of the words in a value: `RemediationCard.tsx` has three.
pub(super) fn parts(value: &str) -> impl Iterator<Item = u64> {
    let bytes = value.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            at = part_end(bytes, start);
            let part = bytes.get(start..at).unwrap_or_default();
            if part.len() >= 3
                && part.iter().all(|byte| !byte.is_ascii() || byte.is_ascii_alphabetic())
            {
                return Some(hash_of(part));
            }
        }
        None
    })
}

/// Returns the end of the word that starts at `start`: it continues in lower case, or entirely in
/// upper case.
fn part_end(bytes: &[u8], start: usize) -> usize {
    let is_letter = |at: usize| {
        bytes.get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii())
    };
    let is_lower =
        |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_lowercase() || !byte.is_ascii());
    if !is_letter(start) {
        return start + 1;
    }
    let mut at = start + 1;
    if is_lower(at) || is_lower(start) {
        while is_lower(at) {
            at += 1;
        }
        return at;
    }
    // `JSONFile`: the last capital belongs to the next word.
    while is_letter(at) && !is_lower(at) && !is_lower(at + 1) {
        at += 1;
    }
    at
}

fn hash_of(part: &[u8]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in part {
        hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// Returns a value without what only a spelling adds: `./` in front, `/` at the end.
#[must_use]
pub fn plain(value: &str) -> &str {
    value.trim_start_matches("./").trim_end_matches('/')
}

/// Returns the part of a value after its last slash.
#[must_use]
pub fn base_name(value: &str) -> &str {
    value.rsplit_once('/').map_or(value, |(_, base)| base)
}

/// Returns the part of a value before its last slash.
#[must_use]
pub fn directory(value: &str) -> Option<&str> {
    let before = value.rsplit_once('/').map(|(before, _)| before);
    before.filter(|directory| !directory.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, Kind)> {
        values(text).collect()
    }

    #[test]
    fn identifier_like_words_are_values() {
        use Kind::*;
        assert_eq!(
            found(
                "open src/main.rs and /etc/hosts, call parse_line or parseLine; \
                 see lib.rs (commit 3f2a91bc)"
            ),
            [
                ("src/main.rs", RelativePath),
                ("/etc/hosts", AbsolutePath),
                ("parse_line", Symbol),
                ("parseLine", Symbol),
                ("lib.rs", File),
                ("3f2a91bc", Hash),
            ]
        );
        assert_eq!(
            found("order 100452 user#W0423 mail a.b@c.org https://x.org/y?z 2024-05-15"),
            [
                ("100452", Number),
                ("user#W0423", Id),
                ("a.b@c.org", Link),
                ("https://x.org/y", Link),
                ("2024-05-15", Number)
            ]
        );
    }

    #[test]
    fn plain_words_flags_and_short_numbers_are_not_values() {
        assert_eq!(
            found("the quick brown fox --no-verify -la 12 404 /dev/null in_progress etc."),
            []
        );
    }

    #[test]
    fn an_extension_has_one_to_five_letters() {
        for word in ["a.rs", "x.tar.gz", "b1.jsonl", "é/f.c"] {
            assert!(has_extension(word), "{word}");
        }
        for word in ["a.", ".rs", "a.mp3", "a.abcdef", "a-.rs", "rs", "日.rs", "a.文", "", "."] {
            assert!(!has_extension(word), "{word}");
        }
    }

    #[test]
    fn plain_words_have_no_kind() {
        for word in ["the", "Returns", "HTTP", "message", "e", "etc"] {
            assert!(is_plain(word) && kind(strip(word)).is_none(), "{word}");
        }
        for word in ["parseLine", "a_b_c", "src/x", "1.50", "héros", "end."] {
            assert!(!is_plain(word), "{word}");
        }
    }

    #[test]
    fn separators_include_all_ascii_white_space() {
        let is_expected = |c: char| c.is_whitespace() || "\"'`,;(){}[]<>|&=*$!?\\\0".contains(c);
        for c in (0_u8..128).map(char::from) {
            assert_eq!(is_separator(c), is_expected(c), "{c:?}");
        }
    }

    #[test]
    fn a_location_in_a_file_is_removed() {
        assert_eq!(found("src/a.rs:12:fn main"), [("src/a.rs", Kind::RelativePath)]);
    }

    #[test]
    fn chinese_phrases_are_values() {
        assert_eq!(found("去北京饭店吃饭，谢谢"), [("去北京饭店吃饭", Kind::Cjk)]);
    }
}
