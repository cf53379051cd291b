//! Splits text into the terms of the search index. Identifiers are indexed whole and by their
//! parts. Chinese, Japanese and Korean, which have no spaces, are indexed by character pairs.

use std::collections::HashSet;

use waterline::message::{Body, Message, Part};
use waterline::tokens::is_cjk;

/// Maximum number of bytes of terms that are indexed per message. A `tsvector` of PostgreSQL holds
/// at most one megabyte.
const MAX_INDEXED_BYTES: usize = 600_000;

/// How much of an artifact can be searched.
const MAX_ARTIFACT_BYTES: usize = 1 << 20;

/// A longer run of letters is data, not a word.
const MAX_TERM_BYTES: usize = 64;

/// Returns the text of a message that can be searched.
pub(crate) fn searchable(message: &Message) -> String {
    let mut text = String::new();
    message.parts.iter().for_each(|part| add(part, &mut text));
    text
}

fn add(part: &Part, text: &mut String) {
    match &part.body {
        Body::Text(body) => text.push_str(body),
        Body::Thinking(thinking) => text.push_str(&thinking.text),
        Body::Call(call) => {
            text.push_str(&call.name);
            text.push(' ');
            text.push_str(&call.arguments);
        }
        Body::Result(result) => result.parts.iter().for_each(|part| add(part, text)),
        Body::Image(_) | Body::Opaque(_) => {}
    }
    text.push('\n');
}

/// Returns the text of an artifact that can be searched; `None` if it is not text.
pub(crate) fn artifact_text(bytes: &[u8]) -> Option<&str> {
    let start = bytes.get(..MAX_ARTIFACT_BYTES).unwrap_or(bytes);
    match std::str::from_utf8(start) {
        Ok(text) => Some(text),
        // The limit may be inside a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(start.get(..error.valid_up_to())?).ok()
        }
        Err(_) => None,
    }
}

/// Returns the terms of an artifact, separated by spaces; `None` if it is not text or has none.
pub(crate) fn artifact_terms(bytes: &[u8]) -> Option<String> {
    artifact_text(bytes).map(index_terms).filter(|terms| !terms.is_empty())
}

/// Returns the distinct terms of a text, separated by spaces.
pub(crate) fn index_terms(text: &str) -> String {
    let mut known = HashSet::new();
    let mut out = String::new();
    let mut add = |term: &str| {
        if out.len() < MAX_INDEXED_BYTES && !known.contains(term) {
            known.insert(term.to_owned());
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(term);
        }
    };
    for run in runs(text) {
        match run {
            Run::Cjk(run) => pairs(&run).for_each(|pair| add(&pair)),
            Run::Word(word) => {
                let whole = word.to_lowercase();
                parts(word).filter(|part| *part != whole).for_each(|part| add(&part));
                if whole.len() <= MAX_TERM_BYTES {
                    add(&whole);
                }
            }
        }
    }
    out
}

/// Returns the terms of a query, each with whether it is a prefix: `connect*` finds `connection`.
pub(crate) fn query_terms(query: &str) -> Vec<(String, bool)> {
    let mut terms: Vec<(String, bool)> = Vec::new();
    for word in query.split_whitespace() {
        add_query_terms(word, &mut terms);
        if let Some((_, is_prefix)) = terms.last_mut().filter(|_| word.ends_with('*')) {
            *is_prefix = true;
        }
    }
    terms.sort();
    terms.dedup();
    terms
}

fn add_query_terms(word: &str, terms: &mut Vec<(String, bool)>) {
    for run in runs(word) {
        match run {
            // The index has every pair and the last character alone, so a prefix search finds any
            // single character.
            Run::Cjk(run) if run.len() == 1 => {
                terms.extend(run.first().map(|character| (character.to_string(), true)))
            }
            Run::Cjk(run) => terms.extend(
                pairs(&run).filter(|pair| pair.chars().count() == 2).map(|pair| (pair, false)),
            ),
            Run::Word(word) if word.len() <= MAX_TERM_BYTES => {
                terms.push((word.to_lowercase(), false))
            }
            Run::Word(_) => {}
        }
    }
}

enum Run<'a> {
    Word(&'a str),
    Cjk(Vec<char>),
}

/// Returns the runs of letters, digits and underscores. CJK characters form separate runs.
fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    text.split(move |character| !is_word(character))
        .filter(|run| !run.is_empty())
        .flat_map(split_scripts)
}

fn split_scripts(run: &str) -> Vec<Run<'_>> {
    let mut found = Vec::new();
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let cjk = is_cjk(first);
        let end = rest.find(|character| is_cjk(character) != cjk).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        found.push(if cjk { Run::Cjk(part.chars().collect()) } else { Run::Word(part) });
        rest = after;
    }
    found
}

/// Returns every two adjacent characters, then the last character alone.
fn pairs(run: &[char]) -> impl Iterator<Item = String> {
    (0..run.len()).map(|at| run.iter().skip(at).take(2).collect())
}

/// Returns the parts of an identifier: `readFile` gives `read` and `file`, `HTTPServer2` gives
/// `http` and `server`.
fn parts(word: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    let mut before: Option<char> = None;
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let starts_part = before.is_some_and(|before| {
            character == '_'
                || before == '_'
                || character.is_uppercase() && (before.is_lowercase() || next_is_lower)
                || character.is_numeric() != before.is_numeric()
        });
        if starts_part {
            parts.push(std::mem::take(&mut part));
        }
        if character != '_' {
            part.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    parts.push(part);
    // Single letters are not useful: most of them come from hashes.
    parts.into_iter().filter(|part| part.len() > 1 && part.len() <= MAX_TERM_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        index_terms(text).split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn identifiers_are_indexed_whole_and_by_their_parts() {
        assert_eq!(
            terms("readFile(HTTPServer2, max_retries)"),
            [
                "read",
                "file",
                "readfile",
                "http",
                "server",
                "httpserver2",
                "max",
                "retries",
                "max_retries"
            ]
        );
    }

    #[test]
    fn chinese_is_indexed_by_character_pairs() {
        assert_eq!(terms("数据库 v2升级"), ["数据", "据库", "库", "v2", "升级", "级"]);
        assert_eq!(query_terms("数据库"), [("据库".to_owned(), false), ("数据".to_owned(), false)]);
        assert_eq!(query_terms("库"), [("库".to_owned(), true)]);
        assert_eq!(
            query_terms("* connect* x"),
            [("connect".to_owned(), true), ("x".to_owned(), false)]
        );
    }

    #[test]
    fn punctuation_and_long_runs_are_not_indexed() {
        assert_eq!(terms(&format!("{} 'x\"; DROP\u{0}", "A".repeat(100))), ["x", "drop"]);
        assert!(query_terms("?! …").is_empty());
    }
}
