//! Colors for code, line by line: comments, strings, numbers and keywords of the common languages,
//! in the 16 colors that every terminal has. A small lexer and not a grammar: it works on lines as
//! they stream in, and a line that it does not understand is shown without colors.

use anstyle::{AnsiColor, Style};

use super::languages::{Kind, Language};
use crate::show::DIM;
use crate::show::rows::Span;

const KEYWORD: Style = AnsiColor::Magenta.on_default();
const STRING: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Yellow.on_default();
const KEY: Style = AnsiColor::Cyan.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// What the previous line left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Code,
    /// A comment that ends with this text.
    Comment(&'static str),
    /// A string that ends with this text.
    String(&'static str),
}

/// Colors one line. `state` is the state before the line, and is updated to the state after it.
pub fn line(language: &'static Language, state: &mut State, code: &str) -> Vec<Span> {
    let mut lexer = Lexer { language, rest: code, spans: Vec::new(), before: None };
    match language.kind {
        Kind::Diff => lexer.diff(),
        Kind::Keys(end) if *state == State::Code => lexer.key(end),
        _ => {}
    }
    while !lexer.rest.is_empty() {
        *state = lexer.next(*state);
    }
    lexer.spans
}

struct Lexer<'a> {
    language: &'static Language,
    rest: &'a str,
    spans: Vec<Span>,
    /// The character before the rest.
    before: Option<char>,
}

impl Lexer<'_> {
    /// Moves this many bytes of the rest into a span.
    fn take(&mut self, bytes: usize, style: Style) {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.before = taken.chars().next_back().or(self.before);
        match self.spans.last_mut().filter(|last| last.style == style) {
            Some(last) => last.text += taken,
            None => self.spans.push(Span::new(style, taken)),
        }
        self.rest = rest;
    }

    fn diff(&mut self) {
        let style = match self.rest.bytes().next() {
            Some(b'+') => STRING,
            Some(b'-') => REMOVED,
            Some(b'@') => KEY,
            _ => Style::new(),
        };
        self.take(self.rest.len(), style);
    }

    /// Takes the key at the start of a line, or the name of a section.
    fn key(&mut self, end: char) {
        let text = self.rest.trim_start_matches([' ', '-']);
        let indent = self.rest.len() - text.len();
        let is_key = |c: char| c.is_alphanumeric() || "_-./\"' ".contains(c);
        let key = text
            .find(|c: char| !is_key(c))
            .filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(end)));
        if let Some(length) = key.filter(|length| *length > 0) {
            self.take(indent, Style::new());
            self.take(length, KEY);
        } else if text.starts_with('[') && end == '=' {
            let length = text.find(']').map_or(text.len(), |at| at + 1);
            self.take(indent, Style::new());
            self.take(length, KEY);
        }
    }

    /// Takes the next part of the line. Returns what follows it.
    fn next(&mut self, state: State) -> State {
        match state {
            State::Comment(end) => return self.until(end, DIM, state),
            State::String(end) => return self.string_until(end),
            State::Code => {}
        }
        let language = self.language;
        if let Some((start, end)) = language.block.filter(|(start, _)| self.rest.starts_with(start))
        {
            self.take(start.len(), DIM);
            return self.until(end, DIM, State::Comment(end));
        }
        if self.starts_comment() {
            self.take(self.rest.len(), DIM);
            return State::Code;
        }
        if let Some(mark) = language.strings.iter().find(|mark| self.rest.starts_with(**mark)) {
            self.take(mark.len(), STRING);
            let after = self.string_until(mark);
            let is_long = language.long_strings.contains(mark);
            return if is_long { after } else { State::Code };
        }
        self.word();
        State::Code
    }

    fn starts_comment(&self) -> bool {
        let comment = self.language.comment;
        // In a shell, `$#` and `a#b` are not comments.
        let is_separate = comment != "#" || self.before.is_none_or(char::is_whitespace);
        !comment.is_empty() && is_separate && self.rest.starts_with(comment)
    }

    /// Takes everything up to and including `end`, or the whole line.
    fn until(&mut self, end: &'static str, style: Style, otherwise: State) -> State {
        match self.rest.find(end) {
            Some(at) => {
                self.take(at + end.len(), style);
                State::Code
            }
            None => {
                self.take(self.rest.len(), style);
                otherwise
            }
        }
    }

    /// Takes a string up to its end, which a backslash escapes, or the whole line.
    fn string_until(&mut self, end: &'static str) -> State {
        let mut at = 0;
        while let Some(rest) = self.rest.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(end) {
                self.take(at + end.len(), STRING);
                return State::Code;
            }
            let mut chars = rest.chars();
            let escaped = chars.next() == Some('\\');
            at = self.rest.len() - chars.as_str().len();
            if escaped {
                at += chars.next().map_or(0, char::len_utf8);
            }
        }
        self.take(self.rest.len(), STRING);
        State::String(end)
    }

    /// Takes a word, a number, or one other character.
    fn word(&mut self) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let word = self.rest.get(..length).unwrap_or_default();
        let Some(first) = word.chars().next() else {
            let length = self.rest.chars().next().map_or(1, char::len_utf8);
            return self.take(length, Style::new());
        };
        if first.is_ascii_digit() {
            let is_number = |c: char| is_word(c) || c == '.';
            let length = self.rest.find(|c| !is_number(c)).unwrap_or(self.rest.len());
            return self.take(length, NUMBER);
        }
        let style = if self.is_keyword(word) { KEYWORD } else { Style::new() };
        self.take(length, style);
    }

    fn is_keyword(&self, word: &str) -> bool {
        let mut keywords = self.language.keywords.split_whitespace();
        match self.language.kind {
            Kind::Markup => matches!(self.before, Some('<' | '/')),
            Kind::CodeInAnyCase => keywords.any(|keyword| keyword.eq_ignore_ascii_case(word)),
            _ => keywords.any(|keyword| keyword == word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::languages::language;
    use super::*;

    /// Colors lines, with one letter for each style around its text.
    fn shown(name: &str, lines: &[&str]) -> Vec<String> {
        let mut state = State::default();
        let language = language(name).unwrap();
        let tag = |style: Style| match style {
            KEYWORD => "k",
            STRING => "s",
            NUMBER => "n",
            KEY => "y",
            REMOVED => "r",
            DIM => "c",
            _ => "",
        };
        let span = |span: &Span| match tag(span.style) {
            "" => span.text.clone(),
            tag => format!("<{tag}:{}>", span.text),
        };
        lines
            .iter()
            .map(|code| line(language, &mut state, code).iter().map(span).collect())
            .collect()
    }

    #[test]
    fn comments_strings_numbers_and_keywords_are_colored() {
        assert_eq!(
            shown("rust", &["let x: &'a str = \"a\\\"b\"; // 3", "for_each(0x1f, 2.5)"]),
            ["<k:let> x: &'a str = <s:\"a\\\"b\">; <c:// 3>", "for_each(<n:0x1f>, <n:2.5>)"]
        );
        assert_eq!(
            shown("SQL", &["select 1 FROM t -- x"]),
            ["<k:select> <n:1> <k:FROM> t <c:-- x>"]
        );
        assert_eq!(shown("sh", &["echo $# # n"]), ["<k:echo> $# <c:# n>"]);
        assert_eq!(shown("json", &["{\"a\": [1, true]}"]), ["{<s:\"a\">: [<n:1>, <k:true>]}"]);
    }

    #[test]
    fn comments_and_strings_continue_on_the_next_line() {
        assert_eq!(
            shown("c", &["int a; /* one", "two */ int b;"]),
            ["<k:int> a; <c:/* one>", "<c:two */> <k:int> b;"]
        );
        assert_eq!(
            shown("py", &["x = \"\"\"one", "if\"\"\" + 'a'", "if 'open", "if"]),
            ["x = <s:\"\"\"one>", "<s:if\"\"\"> + <s:'a'>", "<k:if> <s:'open>", "<k:if>"]
        );
    }

    #[test]
    fn keys_tags_and_changes_are_colored() {
        assert_eq!(
            shown("toml", &["[a.b]", "c-d = 1 # x"]),
            ["<y:[a.b]>", "<y:c-d >= <n:1> <c:# x>"]
        );
        assert_eq!(shown("yaml", &["  - name: 'a'"]), ["  - <y:name>: <s:'a'>"]);
        assert_eq!(
            shown("html", &["<p class=\"a\">if</p>"]),
            ["<<k:p> class=<s:\"a\">>if</<k:p>>"]
        );
        assert_eq!(
            shown("diff", &["+a", "-b", "@@ 1", " c"]),
            ["<s:+a>", "<r:-b>", "<y:@@ 1>", " c"]
        );
    }
}
