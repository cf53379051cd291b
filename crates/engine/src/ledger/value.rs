//! Finds the values of a text: its identifier-like words, as the retention measure defines them.

use crate::tokens::is_cjk;

/// The kind of a value, as its characters suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A path from the root or the home directory.
    AbsolutePath,
    /// A path without a leading slash, such as `src/main.rs`.
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
    candidates(text).filter_map(|word| kind_of_candidate(word).map(|kind| (word, kind)))
}

/// Returns the words of a text that may be values, as they would be listed.
/// [`kind_of_candidate`] tells whether they are.
pub(super) fn candidates(text: &str) -> impl Iterator<Item = &str> {
    Candidates { text, at: 0 }.map(|word| without_location(as_listed(word)))
}

/// Returns the kind of one of the [`candidates`], or `None` if it is not a value.
pub(super) fn kind_of_candidate(word: &str) -> Option<Kind> {
    kind(word).filter(|_| !is_measure(word) && !is_timestamp(word))
}

/// Returns the words of a text as the ledger lists them, if that is not how [`words`] returns them.
pub(super) fn words_listed_otherwise(text: &str) -> impl Iterator<Item = &str> {
    let dotted = text.split(is_separator).filter(|word| word.starts_with('.'));
    dotted.map(as_listed).filter(|word| word.starts_with('.'))
}

/// Returns the words of a text, without surrounding punctuation.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_separator).map(strip)
}

/// Finds the words of a text that are not certainly plain words. A word is plain if it is short, or
/// only letters without a capital in the middle. Most words are, so this reads bytes, which is much
/// faster than splitting the text and asking for the [`kind`] of each word.
struct Candidates<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Candidates<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            let start = self.at;
            // The classes of the bytes, and whether a capital follows a small letter.
            let mut classes = 0;
            let mut has_camel = false;
            let mut before = 0;
            while let Some(&byte) = bytes.get(self.at) {
                let class = class(byte);
                if class == SEPARATOR || (class == NOT_ASCII && self.skip_character()) {
                    break;
                }
                has_camel |= before == LOWER && class == UPPER;
                classes |= class;
                before = class;
                self.at += 1;
            }
            let end = self.at;
            self.skip_separator();
            let is_plain = classes & !(LOWER | UPPER) == 0 && !has_camel;
            if is_plain || end - start < MIN_LENGTH || is_line_number(bytes, start, end) {
                continue;
            }
            let start = start + escaped_letter(bytes, start) + diff_prefix(bytes, start);
            return self.text.get(number_start(bytes, start)..end);
        }
        None
    }
}

/// Returns the start of the number that a word ends: of `12,345.67` for the word `345.67`.
fn number_start(bytes: &[u8], word: usize) -> usize {
    let is_group = |at: usize| {
        let digits =
            bytes.get(at..at + 3).is_some_and(|group| group.iter().all(u8::is_ascii_digit));
        digits && bytes.get(at + 3).is_some_and(|&byte| matches!(byte, b'.' | b','))
    };
    let mut start = word;
    while is_group(start) && start > 0 && bytes.get(start - 1) == Some(&b',') {
        let before = bytes.get(..start - 1).unwrap_or_default();
        let digits = before.iter().rev().take(4).take_while(|byte| byte.is_ascii_digit()).count();
        let first = before.len() - digits;
        let begins = first == 0 || before.get(first - 1).is_some_and(|&b| class(b) == SEPARATOR);
        if !(1..=3).contains(&digits) || !begins {
            break;
        }
        start = first;
    }
    start
}

impl Candidates<'_> {
    fn character(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Moves to the last byte of a non-ASCII character. If the character is a separator, returns
    /// true and does not move.
    fn skip_character(&mut self) -> bool {
        match self.character() {
            Some(c) if !separates(c) => {
                self.at += c.len_utf8() - 1;
                false
            }
            _ => true,
        }
    }

    fn skip_separator(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if let [ESCAPE, b'[', sequence @ ..] = rest {
            // Colors of a terminal: the letter that ends the sequence is not a part of a word.
            let length = sequence.iter().position(|byte| (0x40..0x7f).contains(byte));
            self.at += 2 + length.map_or(sequence.len(), |length| length + 1);
            return;
        }
        self.at += self.character().map_or(0, char::len_utf8);
    }
}

/// Starts a control sequence of a terminal.
const ESCAPE: u8 = 0x1b;

/// Returns the part of a line before `at`.
fn line_before(bytes: &[u8], at: usize) -> &[u8] {
    let before = bytes.get(..at).unwrap_or_default();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    before.get(start..).unwrap_or_default()
}

/// Returns whether a word is the number that a tool prints before each line of a file: at the start
/// of a line, with an arrow or a bar after it, or indented with a tab after it.
fn is_line_number(bytes: &[u8], start: usize, end: usize) -> bool {
    let word = bytes.get(start..end).unwrap_or_default();
    if !word.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let after = bytes.get(end..).unwrap_or_default();
    let is_indented = start > 0 && bytes.get(start - 1) == Some(&b' ');
    let is_marked = after.starts_with("→".as_bytes())
        || after.starts_with("│".as_bytes())
        || after.starts_with(b"|")
        || after.starts_with(b"\t") && is_indented;
    is_marked && line_before(bytes, start).iter().all(|&byte| byte == b' ')
}

/// Returns 1 if a word starts with the letter of an escaped line break or tab: `\\nNext` in JSON.
fn escaped_letter(bytes: &[u8], start: usize) -> usize {
    let is_escaped = start > 0 && bytes.get(start - 1) == Some(&b'\\');
    let is_letter = matches!(bytes.get(start), Some(b'n' | b't' | b'r'));
    // In `C:\\new` it is a part of the name.
    let starts_word = bytes.get(start + 1).is_some_and(|next| !next.is_ascii_lowercase());
    usize::from(is_escaped && is_letter && starts_word)
}

/// Returns the length of the `a/` or `b/` that a diff puts before a path.
fn diff_prefix(bytes: &[u8], start: usize) -> usize {
    if !matches!(bytes.get(start..start + 2), Some(b"a/" | b"b/")) {
        return 0;
    }
    let line = line_before(bytes, start);
    let is_header = line == b"--- " || line == b"+++ " || line.starts_with(b"diff ");
    if is_header { 2 } else { 0 }
}

/// The classes of bytes, one bit each.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const SEPARATOR: u8 = 4;
/// A byte of a longer character.
const NOT_ASCII: u8 = 8;
/// A digit, or a symbol that can be a part of a word.
const OTHER: u8 = 16;

/// The class of each byte.
static CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut rest = classes.as_mut_slice();
    let mut byte: u32 = 0;
    while let [class, others @ ..] = rest {
        *class = match byte {
            0x61..=0x7a => LOWER,
            0x41..=0x5a => UPPER,
            0x80.. => NOT_ASCII,
            _ if byte == ESCAPE as u32 => SEPARATOR,
            _ if ASCII_SEPARATORS >> byte & 1 == 1 => SEPARATOR,
            _ => OTHER,
        };
        rest = others;
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(OTHER)
}

/// Returns whether a character separates values.
const fn separates(c: char) -> bool {
    is_separator(c) || matches!(c, '→' | '│' | '·' | '•' | '✓' | '✗' | '…')
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

/// Punctuation around words.
const ENDS: [char; 6] = ['.', ':', '#', '-', '/', ' '];

fn strip(word: &str) -> &str {
    if word.starts_with('/') { word.trim_end_matches(ENDS) } else { word.trim_matches(ENDS) }
}

/// Returns a word as the ledger lists it: like [`strip`], but a path keeps the dots that it starts
/// with, because `.github/x` is not `github/x`.
fn as_listed(word: &str) -> &str {
    let word = word.trim_start_matches("./");
    let is_dotted = word.starts_with("../")
        || word.strip_prefix('.').is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains('/')
        });
    if is_dotted { word.trim_end_matches(ENDS) } else { strip(word) }
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

/// `2026-06-27T10:44`
fn is_timestamp(word: &str) -> bool {
    let Some((date, time)) = word.split_once('T') else { return false };
    date.len() == 10
        && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && time.starts_with(|c: char| c.is_ascii_digit())
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

/// The extensions of files that agents work with, in order.
const FILE_EXTENSIONS: [&str; 108] = [
    "astro", "awk", "bash", "bat", "bin", "bmp", "bz", "c", "cc", "cfg", "cjs", "clj", "cmake",
    "cmd", "conf", "cpp", "cs", "css", "csv", "cts", "cxx", "dart", "db", "diff", "doc", "docx",
    "ejs", "env", "erb", "erl", "ex", "exs", "fish", "fs", "ftl", "gif", "go", "gql", "gradle",
    "graphql", "gz", "h", "hbs", "hpp", "hs", "htm", "html", "hxx", "ico", "ini", "ipynb", "java",
    "jpeg", "jpg", "js", "json", "jsonc", "jsonl", "jsx", "kt", "kts", "less", "lock", "log",
    "lua", "md", "mdx", "mjs", "mk", "ml", "mod", "mts", "nix", "patch", "pdf", "php", "pl", "png",
    "proto", "ps", "py", "pyi", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sql", "sum",
    "svelte", "svg", "swift", "tar", "tex", "tf", "toml", "ts", "tsv", "tsx", "txt", "vue", "xlsx",
    "xml", "yaml", "yml", "zip",
];

/// Returns whether a word ends with the extension of a kind of file.
pub(super) fn has_file_extension(word: &str) -> bool {
    let extension = word.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| FILE_EXTENSIONS.binary_search(&&*extension).is_ok())
}

fn has_camel(word: &str) -> bool {
    word.as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
}

/// Returns the pieces of a word: everything before and after each `/`, `.` and `:`, and every
/// single name.
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

/// Removes a leading `./` and a trailing `/`.
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
    fn plain_words_are_not_candidates() {
        for word in ["the", "Returns", "HTTP", "message", "e", "etc", "", "a.b"] {
            assert_eq!(candidates(word).collect::<Vec<_>>(), [""; 0], "{word}");
            assert_eq!(kind(strip(word)), None, "{word}");
        }
        for word in ["parseLine", "a_b_c", "src/x", "1.50", "héros", "北京饭店"] {
            assert_eq!(candidates(word).collect::<Vec<_>>(), [word]);
        }
    }

    #[test]
    fn candidates_are_found_between_all_separators() {
        for separator in [" ", "\n", "，", "→", "│", "…", "\u{a0}", "; →  ", "|"] {
            let text = format!("{separator}src/a.rs{separator}plain{separator}b_c_d{separator}");
            assert_eq!(candidates(&text).collect::<Vec<_>>(), ["src/a.rs", "b_c_d"], "{text}");
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
