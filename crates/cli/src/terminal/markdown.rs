//! An answer as it streams in, with its markdown styled. The unfinished line is written as it comes; when its end is
//! known it is taken back and written again with styles. A line is understood by itself, but for code blocks.
//!
//! Says what is to be written and writes nothing. It is for a terminal, with the cursor at the start of a line: behind
//! a writer that strips codes, every line that is taken back would be there twice.

use std::collections::HashMap;

use anstyle::{AnsiColor, Effects, Style};
use unicode_width::UnicodeWidthChar;

use crate::show::plain;

const CODE: Style = AnsiColor::Cyan.on_default();
const DIM: Style = Style::new().dimmed();

/// The rows of an unfinished line that are written. What has left the top of the screen could not be taken back, so the
/// rest of a longer line waits for its end.
const MOST_ROWS: usize = 16;

/// The columns of a horizontal rule.
const RULE: usize = 40;

/// Shows markdown as it streams in.
pub struct Markdown {
    columns: usize,
    /// The line whose end has not come, without what could steer the terminal.
    line: String,
    /// The bytes of it that are written, and the row and column to which they brought the cursor.
    shown: usize,
    row: usize,
    column: usize,
    fence: Option<Fence>,
}

/// What opened the code block that the lines are in.
struct Fence {
    sign: char,
    length: usize,
    quotes: usize,
}

impl Markdown {
    /// For a terminal of so many columns: its true ones, since they tell where a line goes on in the next row.
    pub fn new(columns: usize) -> Self {
        // A character can be two columns wide.
        let columns = columns.max(2);
        Self { columns, line: String::new(), shown: 0, row: 0, column: 0, fence: None }
    }

    /// What is to be written to the terminal for more of the answer.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.end_line(&mut out);
            }
            self.line += &plain(&part.replace('\r', "").replace('\t', "    "));
        }
        self.show(&mut out);
        out
    }

    /// What is to be written at the end: the line that is not finished, styled. Ends with a line break if anything was
    /// written. Another answer can follow.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.fence = None;
        out
    }

    /// Writes what is new of the unfinished line. A full row leaves the cursor in it: only the next character goes on
    /// in the next row, and one of two columns does so if only one column is left.
    fn show(&mut self, out: &mut String) {
        for c in self.line.get(self.shown..).unwrap_or_default().chars() {
            let width = c.width().unwrap_or(0);
            if self.column + width > self.columns {
                if self.row + 1 == MOST_ROWS {
                    break;
                }
                self.row += 1;
                self.column = 0;
            }
            self.column += width;
            self.shown += c.len_utf8();
            out.push(c);
        }
    }

    fn end_line(&mut self, out: &mut String) {
        let styled = self.style();
        if styled == self.line {
            *out += self.line.get(self.shown..).unwrap_or_default();
        } else {
            if self.row > 0 {
                *out += &format!("\x1b[{}A", self.row);
            }
            if self.shown > 0 {
                *out += "\r\x1b[J";
            }
            *out += &styled;
        }
        out.push('\n');
        self.line.clear();
        (self.shown, self.row, self.column) = (0, 0, 0);
    }

    fn style(&mut self) -> String {
        if let Some(fence) = &self.fence {
            let (quotes, text) = unquote(&self.line, fence.quotes);
            if quotes == fence.quotes {
                let ends = fence.ends_with(text);
                let styled = bars(quotes) + &paint(if ends { DIM } else { CODE }, text);
                self.fence = self.fence.take().filter(|_| !ends);
                return styled;
            }
            // A quote that ends takes its code block along.
            self.fence = None;
        }
        let (quotes, rest) = unquote(&self.line, usize::MAX);
        let text = rest.trim_start_matches(' ');
        let indent = bars(quotes) + &" ".repeat(rest.len() - text.len());
        if is_rule(text) {
            return indent + &paint(DIM, &"─".repeat(self.columns.min(RULE)));
        }
        if text.starts_with('|') {
            // Without its marks a cell would be narrower than its column.
            return indent + text;
        }
        let (marker, text) = item(text);
        let body = if let Some(fence) = Fence::opened_by(text, quotes) {
            self.fence = Some(fence);
            paint(DIM, text)
        } else if let Some(heading) = heading(text) {
            inline(heading, Effects::BOLD)
        } else {
            inline(text, Effects::new())
        };
        indent + marker + &body
    }
}

impl Fence {
    fn opened_by(text: &str, quotes: usize) -> Option<Self> {
        let text = text.trim_start();
        let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let language = text.trim_start_matches(sign);
        let length = text.len() - language.len();
        // Backticks further on make it code within a line.
        (length >= 3 && !(sign == '`' && language.contains('`'))).then_some(Self { sign, length, quotes })
    }

    fn ends_with(&self, text: &str) -> bool {
        let text = text.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.sign)
    }
}

/// How deep a line is quoted, at most so deep, and what it says.
fn unquote(line: &str, most: usize) -> (usize, &str) {
    let (mut quotes, mut rest) = (0, line);
    while quotes < most
        && let Some(quoted) = rest.trim_start_matches(' ').strip_prefix('>')
    {
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
        quotes += 1;
    }
    (quotes, rest)
}

fn bars(quotes: usize) -> String {
    paint(DIM, &"│ ".repeat(quotes))
}

fn is_rule(text: &str) -> bool {
    let Some(sign) = text.chars().next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    text.chars().all(|c| c == sign || c == ' ') && text.chars().filter(|c| *c == sign).count() >= 3
}

/// What a list's item begins with, as it is shown, and the item; nothing and the text if it is none.
fn item(text: &str) -> (&str, &str) {
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|bullet| text.strip_prefix(bullet)) {
        return ("• ", item);
    }
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match behind.strip_prefix(". ").or_else(|| behind.strip_prefix(") ")) {
        Some(item) if behind.len() < text.len() => (text.strip_suffix(item).unwrap_or_default(), item),
        _ => ("", text),
    }
}

fn heading(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches('#');
    let words = behind.strip_prefix(' ').filter(|_| (1..=6).contains(&(text.len() - behind.len())))?.trim();
    // Signs may close a heading too, but the one of "C#" belongs to its word.
    Some(words.trim_end_matches('#')).filter(|bare| bare.ends_with(' ')).map(str::trim_end).or(Some(words))
}

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

fn inline(text: &str, base: Effects) -> String {
    let mut pieces = pieces(text);
    pair(&mut pieces);
    let mut active = Effects::new();
    let mut out = String::new();
    for piece in &pieces {
        let effects = base | active;
        match piece {
            Piece::Text(text) => out += &paint(effects.into(), text),
            Piece::Mark { sign, .. } => out += &paint(effects.into(), sign),
            Piece::Code(code) => out += &paint(CODE.effects(effects), code),
            Piece::Address(address) => out += &paint(DIM, &format!(" ({address})")),
            Piece::Toggle(effect) => active = active.set(*effect, !active.contains(*effect)),
        }
    }
    out
}

fn paint(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with its styles as readable signs.
    fn readable(text: &str) -> String {
        [
            ("\x1b[0m", "</>"),
            ("\x1b[1m", "<b>"),
            ("\x1b[2m", "<dim>"),
            ("\x1b[3m", "<i>"),
            ("\x1b[9m", "<s>"),
            ("\x1b[36m", "<code>"),
        ]
        .iter()
        .fold(text.to_owned(), |text, (codes, sign)| text.replace(codes, sign))
    }

    fn shown(text: &str) -> String {
        let mut markdown = Markdown::new(80);
        readable(&(markdown.push(&format!("{text}\n")) + &markdown.finish())).trim_end_matches('\n').to_owned()
    }

    #[track_caller]
    fn check(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(shown(text), *expected, "{text}");
        }
    }

    /// What a terminal of so many columns has on its screen and above when the parts have been pushed, with styles.
    fn screen<'a>(columns: u16, parts: impl Iterator<Item = &'a str>) -> String {
        let mut terminal = vt100::Parser::new(24.try_into().unwrap(), columns.try_into().unwrap(), 1000);
        let mut markdown = Markdown::new(columns.into());
        terminal.process(b"before\r\n");
        for part in parts {
            terminal.process(markdown.push(part).replace('\n', "\r\n").as_bytes());
        }
        terminal.process(markdown.finish().replace('\n', "\r\n").as_bytes());
        terminal.process(b"after");
        let above = terminal.screen().scrollback_len();
        let all = (0..=above).rev().fold(String::new(), |all, back| {
            terminal.screen_mut().set_scrollback(back);
            let rows = if back == 0 { 24 } else { 1 };
            all + &terminal.screen().rows_formatted(0, columns).take(rows).collect::<Vec<_>>().join("\n") + "\n"
        });
        // A line that was longer with its signs may have scrolled the screen further.
        all.trim_end().to_owned()
    }

    #[track_caller]
    fn check_streaming(text: &str) {
        for columns in [2, 7, 10, 20, 80] {
            let whole = screen(columns, [text].into_iter());
            let single: Vec<String> = text.chars().map(String::from).collect();
            assert_eq!(screen(columns, single.iter().map(String::as_str)), whole, "{columns} columns");
            assert_eq!(screen(columns, text.split_inclusive(' ')), whole, "{columns} columns, words");
        }
    }

    #[test]
    fn words_are_styled() {
        check(&[
            ("a **b** __c__ *d* _e_ ~~f~~", "a <b>b</> <b>c</> <i>d</> <i>e</> <s>f</>"),
            ("***both*** and **a *b* c**", "<b><i>both</> and <b>a </><b><i>b</><b> c</>"),
            ("中文**粗体。**中文", "中文<b>粗体。</>中文"),
            ("use `a*b*c` or `` a`b ``", "use <code>a*b*c</> or <code>a`b</>"),
            ("**see `x`**", "<b>see </><b><code>x</>"),
            (r"\*no\* \# 1\. \`no\` a\b", r"*no* # 1. `no` a\b"),
            ("[a *b*](http://c/d_(e)) f", "a <i>b</><dim> (http://c/d_(e))</> f"),
        ]);
    }

    #[test]
    fn signs_without_a_partner_are_text() {
        for text in [
            "2 * 3 * 4, f(*args, **kwargs)",
            "snake_case_name and __dirname",
            "~/a ~b~ and ~~~~ and ****",
            "a ` b `` c",
            "a[1], [x](y, [ ] and [z]",
            "#hashtag, 1.5 and -1",
            "| **a** | `b` |",
            "    ",
            "",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn blocks_are_styled() {
        check(&[
            ("## A *b* ##", "<b>A </><b><i>b</>"),
            ("# C#", "<b>C#</>"),
            ("- a\n  * b\n+ [ ] **c**", "• a\n  • b\n• [ ] <b>c</>"),
            ("1. a\n12) *b*", "1. a\n12) <i>b</>"),
            ("> a\n>> **b**", "<dim>│ </>a\n<dim>│ │ </><b>b</>"),
            ("> - a", "<dim>│ </>• a"),
            ("* * *", &format!("<dim>{}</>", "─".repeat(40))),
        ]);
    }

    #[test]
    fn code_blocks_have_no_other_styles() {
        check(&[
            (
                "```rust\n# *a*\n\n~~~\n```\n*b*",
                "<dim>```rust</>\n<code># *a*</>\n\n<code>~~~</>\n<dim>```</>\n<i>b</>",
            ),
            ("~~~~\n~~~\n~~~~~\n*b*", "<dim>~~~~</>\n<code>~~~</>\n<dim>~~~~~</>\n<i>b</>"),
            ("- ```\n  a\n  ```\n*b*", "• <dim>```</>\n<code>  a</>\n<dim>  ```</>\n<i>b</>"),
            ("> ```\n> *a*\n*b*", "<dim>│ </><dim>```</>\n<dim>│ </><code>*a*</>\n<i>b</>"),
            ("```a``` *b*", "<code>a</> <i>b</>"),
        ]);
    }

    #[test]
    fn a_line_is_taken_back_only_if_styles_change_it() {
        let mut markdown = Markdown::new(10);
        assert_eq!(markdown.push("plain"), "plain");
        assert_eq!(markdown.push(" text\n"), " text\n");
        assert_eq!(markdown.push("**0123456789"), "**0123456789");
        assert_eq!(readable(&markdown.push("**\n*a")), "\x1b[1A\r\x1b[J<b>0123456789</>\n*a");
        assert_eq!(markdown.push(""), "");
        assert_eq!(markdown.finish(), "\n");
        assert_eq!(markdown.finish(), "");
    }

    #[test]
    fn an_answer_does_not_steer_the_terminal() {
        let mut markdown = Markdown::new(80);
        let text = "a\x1b[2Jb\x07\u{9b}\u{202e}\tc\r\n**d\x1b**";
        let written = markdown.push(text) + &markdown.finish();
        assert_eq!(
            readable(&written),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}\u{fffd}    c\n**d\u{fffd}**\r\x1b[J<b>d\u{fffd}</>\n"
        );
    }

    #[test]
    fn streaming_ends_with_the_same_screen() {
        check_streaming(&"long **lines** of `several` rows ".repeat(8));
        check_streaming(
            "**漢字かな交じり文**、`コード`です。a**漢字かな交じり文**\n\n- 한국어 *기울임*\n> e\u{301}**e\u{301}**",
        );
        check_streaming("Intro:\n```rust\nfn main() { println!(\"*a*\"); }\n\n```\n# After\n---\n\n[a](b)");
        // More than is shown before its end, on a screen that scrolls.
        check_streaming(&format!("a\n{}\nb *c*\n", "very **long** ".repeat(60)));
    }

    #[test]
    fn full_rows_do_not_move_a_line() {
        for length in 1..=24 {
            check_streaming(&format!("a\n{}\n**b**", "*".repeat(3) + &"x".repeat(length) + "***"));
            check_streaming(&format!("a\n*{}*\nb\n{}\nc", "漢".repeat(length), "x".repeat(length)));
        }
    }

    #[test]
    fn hostile_lines_take_no_longer() {
        for part in ["`", "` `` ", "*a ", "**a", "[", "[a](", "[a]((", "](", "> ", "- ", "_", "~~a", "\\", "# "] {
            let mut markdown = Markdown::new(80);
            let text = part.repeat(100_000);
            assert!(!(markdown.push(&text) + &markdown.finish()).is_empty());
        }
    }
}
