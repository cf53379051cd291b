//! Finds the natural language in a message: the words that a person wrote, without the paths,
//! names, code, JSON, XML and logs among them.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::tokens::is_cjk;

/// How many bytes of each end of a text are looked at.
const EDGE_BYTES: usize = 128 * 1024;

/// How much natural language there is in a text or in a line of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    /// Chinese characters.
    pub(super) chinese: usize,
    /// Japanese and Korean letters.
    pub(super) kana_or_hangul: usize,
    /// Words in alphabets.
    pub(super) words: usize,
}

impl Amount {
    pub(super) const fn add(&mut self, other: Self) {
        self.chinese += other.chinese;
        self.kana_or_hangul += other.kana_or_hangul;
        self.words += other.words;
    }

    const fn is_empty(self) -> bool {
        self.chinese + self.kana_or_hangul + self.words == 0
    }
}

/// Returns the amount in each line of a text that has any. Of lines that repeat, as in logs, the
/// first counts. If all of the text is inside elements such as `<request>`, their content counts.
pub(super) fn lines(text: &str) -> Vec<Amount> {
    let text = ends_of(text);
    let outside = count_lines(&without_data(&text, true));
    if outside.is_empty() { count_lines(&without_data(&text, false)) } else { outside }
}

/// Returns whether a text is nothing but elements, such as `<environment_context>`.
pub(crate) fn is_only_elements(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('<')
        && text.ends_with('>')
        && count_lines(&without_data(&ends_of(text), true)).is_empty()
}

/// Returns a text without its middle, if it is very long.
fn ends_of(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * EDGE_BYTES {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(EDGE_BYTES);
    let tail = text.ceil_char_boundary(text.len() - EDGE_BYTES);
    let part = |range: Option<&str>| range.unwrap_or_default().to_owned();
    Cow::Owned(format!("{}\n{}", part(text.get(..head)), part(text.get(tail..))))
}

/// Removes JSON values and tags, and with `elements` also what is between two tags.
fn without_data(text: &str, elements: bool) -> String {
    let mut data = Data::of(text, elements);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[', '<']) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        match data.length(text.len() - from.len()).and_then(|length| from.get(length..)) {
            Some(after) => {
                kept.push(' ');
                rest = after;
            }
            None => {
                kept.push_str(from.get(..1).unwrap_or_default());
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Finds JSON values and elements. A message may be one line of many kilobytes, so no part of it is
/// searched twice for the same thing.
struct Data<'a> {
    text: &'a str,
    has_open_json: bool,
    tag_ends: TagEnds<'a>,
    /// Where the last closing tag of each name is; empty if elements are not looked for.
    closing: FxHashMap<&'a str, usize>,
}

impl<'a> Data<'a> {
    fn of(text: &'a str, elements: bool) -> Self {
        let closing = if elements { closing_tags(text) } else { FxHashMap::default() };
        Self { text, has_open_json: false, tag_ends: TagEnds::of(text), closing }
    }

    /// Returns the length of the data that starts here.
    fn length(&mut self, at: usize) -> Option<usize> {
        let text = self.text.get(at..)?;
        if text.starts_with('<') { self.tag(at, text) } else { self.json(text) }
    }

    /// Returns the length of a JSON value. A value that does not end takes the rest of its line.
    /// Brackets around words are not JSON.
    fn json(&mut self, text: &str) -> Option<usize> {
        let inside = text.get(1..)?.trim_start();
        let starts_json = |c: char| matches!(c, '"' | '{' | '[' | '}' | ']') || c.is_ascii_digit();
        inside.starts_with(starts_json).then_some(())?;
        let length = value_length(text, self.has_open_json);
        self.has_open_json |= length.is_none();
        Some(length.unwrap_or_else(|| text.find('\n').unwrap_or(text.len())))
    }

    /// Returns the length of a tag, or of its element.
    fn tag(&mut self, at: usize, text: &str) -> Option<usize> {
        let inside = text.get(1..)?;
        let name = name_of(inside.strip_prefix('/').unwrap_or(inside));
        name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(())?;
        let tag = self.tag_ends.after(at)? + 1 - at;
        if text.starts_with("</") || self.closing.get(name).is_none_or(|&close| close < at) {
            return Some(tag);
        }
        let close = format!("</{name}>");
        text.find(&close).map(|found| found + close.len())
    }
}

/// Returns the name at the beginning of a tag.
fn name_of(tag: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    tag.find(|c: char| !is_part(c)).and_then(|end| tag.get(..end)).unwrap_or(tag)
}

/// Returns where the last closing tag of each name is.
fn closing_tags(text: &str) -> FxHashMap<&str, usize> {
    let tags = text.match_indices("</").filter_map(|(at, start)| {
        let tag = text.get(at + start.len()..)?;
        let name = name_of(tag);
        tag.get(name.len()..)?.starts_with('>').then_some((name, at))
    });
    tags.collect()
}

/// Finds the ends of tags, from the beginning of a text to its end.
struct TagEnds<'a> {
    text: &'a str,
    /// The first `>` or line end after the last place that was asked for.
    next: Option<usize>,
    #[cfg(test)]
    bytes_read: usize,
}

impl<'a> TagEnds<'a> {
    const fn of(text: &'a str) -> Self {
        Self {
            text,
            next: None,
            #[cfg(test)]
            bytes_read: 0,
        }
    }

    /// Returns the first `>` in the line after a place. Places do not decrease.
    fn after(&mut self, at: usize) -> Option<usize> {
        let next = match self.next.filter(|&next| next >= at) {
            Some(next) => next,
            None => self.find(at)?,
        };
        self.text.get(next..)?.starts_with('>').then_some(next)
    }

    fn find(&mut self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        let length = rest.find(['>', '\n']).unwrap_or(rest.len());
        #[cfg(test)]
        {
            self.bytes_read += length;
        }
        self.next = Some(at + length);
        self.next
    }
}

/// Returns the length of the JSON value that a text starts with, if it ends; with `in_line`, in the
/// first line.
fn value_length(text: &str, in_line: bool) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' if in_line => return None,
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn count_lines(text: &str) -> Vec<Amount> {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut in_code = false;
    let mut amounts = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        if in_code || !seen.insert(trimmed) {
            continue;
        }
        let amount = count(trimmed);
        let is_quoted = amount.chinese == 0 && (is_indented(line) || is_log(trimmed));
        if !amount.is_empty() && !is_quoted {
            amounts.push(amount);
        }
    }
    amounts
}

fn is_indented(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with('\t')
}

/// The first words of lines in logs and in the output of compilers.
const LEVELS: [&str; 12] = [
    "error", "err", "warning", "warn", "info", "debug", "trace", "fatal", "panic", "note", "help",
    "npm",
];

/// Beginnings of lines that programs print and that are quoted in questions.
const PRINTED: [&str; 13] = [
    "Traceback ",
    "File \"",
    "Caused by",
    "thread '",
    "at ",
    "in <",
    "diff ",
    ">",
    "$ ",
    "|",
    "+",
    "@@",
    "--> ",
];

/// Returns whether a line was probably printed by a program.
fn is_log(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let level = first
        .trim_matches(|c: char| !c.is_ascii_alphabetic())
        .split(['[', ':'])
        .next()
        .unwrap_or_default();
    let is_level = LEVELS.iter().any(|name| level.eq_ignore_ascii_case(name))
        && (level != first || level.chars().all(|c| c.is_ascii_uppercase()));
    let names_error = line.split_whitespace().any(|word| {
        let word = word.trim_end_matches([':', ',', '.']);
        word.len() > 6 && (word.ends_with("Error") || word.ends_with("Exception"))
    });
    is_level
        || names_error
        || first.starts_with(|c: char| c.is_ascii_digit()) && first.len() > 4
        || PRINTED.iter().any(|start| line.starts_with(start))
}

/// Counts the natural language of one line.
fn count(line: &str) -> Amount {
    let mut amount = Amount::default();
    // Every other part is inside backquotes.
    let parts = line.split('`').step_by(2);
    for token in parts.flat_map(str::split_whitespace) {
        count_token(token, &mut amount);
    }
    amount
}

/// Counts a text without spaces, in which Chinese and other parts may alternate.
fn count_token(token: &str, amount: &mut Amount) {
    let mut before = "";
    let mut rest = token;
    while let Some(first) = rest.chars().next() {
        let is_east_asian = is_cjk(first) || is_kana_or_hangul(first);
        let same = |c: char| (is_cjk(c) || is_kana_or_hangul(c)) == is_east_asian;
        let end = rest.find(|c: char| !same(c)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        if !is_east_asian {
            amount.words += usize::from(is_word(part));
        } else if !is_file_name(before, after) {
            let letters = part.chars().filter(|c| c.is_alphabetic());
            let (others, chinese): (Vec<char>, Vec<char>) =
                letters.partition(|&c| is_kana_or_hangul(c));
            amount.kana_or_hangul += others.len();
            amount.chinese += chinese.len();
        }
        before = part;
        rest = after;
    }
}

/// Returns whether a Chinese part is a piece of a path: `docs/数据.txt`.
fn is_file_name(before: &str, after: &str) -> bool {
    let extension = after.strip_prefix('.').and_then(|after| after.chars().next());
    before.ends_with(['/', '\\', '_']) || extension.is_some_and(|c| c.is_ascii_alphanumeric())
}

/// Returns whether a text is a word of a natural language, and not a name, a path or a number.
fn is_word(text: &str) -> bool {
    let text = text
        .trim_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '_' | '/' | '<' | '>'));
    let mut previous_is_lower = false;
    let mut letters = 0;
    for c in text.chars() {
        if c.is_alphabetic() {
            if previous_is_lower && c.is_uppercase() {
                return false;
            }
            letters += 1;
        } else if !matches!(c, '\'' | '’' | '-' | '“' | '”' | '…' | '—') {
            return false;
        }
        previous_is_lower = c.is_lowercase();
    }
    letters > 0
}

pub(super) const fn is_kana_or_hangul(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{11FF}'
            | '\u{3040}'..='\u{30FF}'
            | '\u{3130}'..='\u{318F}'
            | '\u{31F0}'..='\u{31FF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{FF66}'..='\u{FF9D}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many bytes were read to find the ends of tags.
    fn bytes_read(text: &str, elements: bool) -> usize {
        let mut data = Data::of(text, elements);
        let tags = text.match_indices('<').filter(|(at, _)| data.length(*at).is_some()).count();
        assert!(tags <= 1, "{tags}");
        data.tag_ends.bytes_read
    }

    #[test]
    fn a_long_line_of_unfinished_tags_is_read_once() {
        let line = "<x ".repeat(70_000);
        for text in [line.clone(), format!("{line}\n<x>"), format!("</x>{line}")] {
            for elements in [false, true] {
                assert!(bytes_read(&text, elements) <= text.len());
            }
        }
    }

    #[test]
    fn tags_elements_and_json_are_left_out() {
        let text = "one <b>two</b> three <br> four <a\n five <c>six [1, 2] seven {\"a\n nine</d>";
        let words = |elements| {
            without_data(text, elements).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(true), "one three four <a five six seven nine");
        assert_eq!(words(false), "one two three four <a five six seven nine");
        let nested = "<a>one</a> two <a>three";
        assert_eq!(without_data(nested, true).trim(), "two  three");
    }
}
