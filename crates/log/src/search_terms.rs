//! The words of a text, as the index knows them. Names in code are found whole and by their pieces;
//! Chinese, Japanese and Korean, which write no blanks, by every two neighbouring characters.

use std::collections::HashSet;

use waterline::message::{Body, Message, Part};
use waterline::tokens::is_cjk;

/// Of one message, words are indexed up to so many bytes: one row of PostgreSQL's index takes no
/// more than a megabyte.
const MOST: usize = 600_000;

/// A longer run of letters is data, not a word.
const LONGEST: usize = 64;

/// What can be searched of a message.
pub(crate) fn searchable(message: &Message) -> String {
    let mut text = String::new();
    message.parts.iter().for_each(|part| add(part, &mut text));
    text
}

fn add(part: &Part, text: &mut String) {
    match &part.body {
        Body::Text(words) => text.push_str(words),
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

/// The distinct words of a text, separated by blanks.
pub(crate) fn indexed(text: &str) -> String {
    let mut known = HashSet::new();
    let mut out = String::new();
    let mut take = |word: &str| {
        if out.len() < MOST && !known.contains(word) {
            known.insert(word.to_owned());
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    };
    for run in runs(text) {
        match run {
            Run::Cjk(run) => pairs(&run).for_each(|pair| take(&pair)),
            Run::Word(word) => {
                let whole = word.to_lowercase();
                pieces(word).filter(|piece| *piece != whole).for_each(|piece| take(&piece));
                if whole.len() <= LONGEST {
                    take(&whole);
                }
            }
        }
    }
    out
}

/// The words to ask the index for, and whether each is only the beginning of one: `connect*` finds
/// `connection`.
pub(crate) fn asked(question: &str) -> Vec<(String, bool)> {
    let mut asked: Vec<(String, bool)> = Vec::new();
    for term in question.split_whitespace() {
        ask(term, &mut asked);
        if let Some((_, prefix)) = asked.last_mut().filter(|_| term.ends_with('*')) {
            *prefix = true;
        }
    }
    asked.sort();
    asked.dedup();
    asked
}

fn ask(term: &str, asked: &mut Vec<(String, bool)>) {
    for run in runs(term) {
        match run {
            // The last character of a run stands alone in the index, so every one begins some
            // entry.
            Run::Cjk(run) if run.len() == 1 => {
                asked.extend(run.first().map(|character| (character.to_string(), true)))
            }
            Run::Cjk(run) => asked.extend(
                pairs(&run).filter(|pair| pair.chars().count() == 2).map(|pair| (pair, false)),
            ),
            Run::Word(word) if word.len() <= LONGEST => asked.push((word.to_lowercase(), false)),
            Run::Word(_) => {}
        }
    }
}

enum Run<'a> {
    Word(&'a str),
    Cjk(Vec<char>),
}

/// The runs of letters and digits; a run of CJK characters is one of its own.
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

/// Every two neighbours, and the last character alone.
fn pairs(run: &[char]) -> impl Iterator<Item = String> {
    (0..run.len()).map(|at| run.iter().skip(at).take(2).collect())
}

/// The pieces of a name: `read_file`, `readFile` and `HTTPServer2` have two or three.
fn pieces(word: &str) -> impl Iterator<Item = String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut piece = String::new();
    let mut before: Option<char> = None;
    let mut characters = word.chars().peekable();
    while let Some(character) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let begins = before.is_some_and(|before| {
            character == '_'
                || before == '_'
                || character.is_uppercase() && (before.is_lowercase() || next_is_lower)
                || character.is_numeric() != before.is_numeric()
        });
        if begins {
            pieces.push(std::mem::take(&mut piece));
        }
        if character != '_' {
            piece.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    pieces.push(piece);
    // A single letter says nothing; most of them come from hashes.
    pieces.into_iter().filter(|piece| piece.len() > 1 && piece.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        indexed(text).split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn names_are_found_whole_and_by_their_pieces() {
        assert_eq!(
            words("readFile(HTTPServer2, max_retries)"),
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
    fn chinese_is_indexed_by_neighbours() {
        assert_eq!(words("数据库 v2升级"), ["数据", "据库", "库", "v2", "升级", "级"]);
        assert_eq!(asked("数据库"), [("据库".to_owned(), false), ("数据".to_owned(), false)]);
        assert_eq!(asked("库"), [("库".to_owned(), true)]);
        assert_eq!(asked("* connect* x"), [("connect".to_owned(), true), ("x".to_owned(), false)]);
    }

    #[test]
    fn what_is_no_word_is_left_out() {
        assert_eq!(words(&format!("{} 'x\"; DROP\u{0}", "A".repeat(100))), ["x", "drop"]);
        assert!(asked("?! …").is_empty());
    }
}
