//! Styled text as rows of a terminal. All lines are wrapped here.

use anstyle::Style;
use textwrap::core::{Word, break_words};
use textwrap::wrap_algorithms::wrap_first_fit;
use unicode_linebreak::linebreaks;
use unicode_width::UnicodeWidthChar;

/// A piece of text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub style: Style,
    pub text: String,
}

impl Span {
    pub fn new(style: Style, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }

    /// Creates a text without a style.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Style::new(), text)
    }
}

/// The places where a row may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Break {
    /// Between words, by the rules of Unicode.
    #[default]
    Words,
    Anywhere,
}

/// A line before it is wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The start of the first row: the bars of a quote, the marker of a list item.
    pub prefix: Vec<Span>,
    /// The start of all other rows.
    pub hang: Vec<Span>,
    pub spans: Vec<Span>,
    pub at: Break,
}

/// An indentation that leaves fewer columns than this is dropped.
const LEAST_ROOM: usize = 8;

/// One row of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    cells: Vec<(char, Style)>,
}

impl Row {
    /// Creates a row of these spans.
    pub fn of(spans: &[Span]) -> Self {
        let cells = spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.style)));
        Self { cells: cells.collect() }
    }

    /// Returns the columns it uses.
    pub fn width(&self) -> usize {
        self.cells.iter().map(|(c, _)| width(*c)).sum()
    }

    /// Appends a text in one style.
    pub fn add(&mut self, text: &str, style: Style) {
        self.cells.extend(text.chars().map(|c| (c, style)));
    }

    /// Appends another row.
    pub fn append(&mut self, mut other: Self) {
        self.cells.append(&mut other.cells);
    }

    /// Removes spaces at the end.
    pub fn trim(&mut self) {
        while self.cells.last().is_some_and(|(c, _)| *c == ' ') {
            self.cells.pop();
        }
    }

    /// Returns the row as text, with style codes if `styled`.
    pub fn text(&self, styled: bool) -> String {
        let mut out = String::new();
        for run in self.cells.chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|(c, _)| *c).collect();
            match run.first() {
                Some((_, style)) if styled => out += &format!("{style}{text}{style:#}"),
                _ => out += &text,
            }
        }
        out
    }
}

/// Returns the columns of a text.
pub fn columns(spans: &[Span]) -> usize {
    Row::of(spans).width()
}

fn width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Wraps a text without a prefix into rows of at most `limit` columns.
pub fn wrap(spans: Vec<Span>, limit: usize) -> Vec<Row> {
    rows(&Text { spans, ..Text::default() }, limit)
}

/// Wraps the lines of a text that may contain style codes. The rows of a line begin below its first
/// word, and tabs are four spaces.
pub fn wrap_styled(text: &str, limit: usize) -> String {
    let line = |line: &str| wrap_styled_line(&line.replace('\t', "    "), limit);
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn wrap_styled_line(line: &str, limit: usize) -> String {
    let shown = Row::of(&[Span::plain(anstream::adapter::strip_str(line).to_string())]);
    if shown.width() <= limit {
        return line.to_owned();
    }
    let indent = shown.cells.iter().take_while(|(c, _)| *c == ' ').count();
    let hang = if indent + LEAST_ROOM <= limit { indent } else { 0 };
    let mut rest = line;
    let mut rows = Vec::new();
    for Length { shown, dropped } in between_words(&shown, [limit, limit - hang]) {
        let start = if rows.is_empty() { 0 } else { hang };
        let row = " ".repeat(start) + take(&mut rest, shown);
        // Codes between the spaces that no row shows are kept.
        rows.push(row + &take(&mut rest, dropped).replace(' ', ""));
    }
    rows.join("\n") + rest
}

/// Takes this many characters from the start of a text, with the style codes before them.
fn take<'a>(text: &mut &'a str, count: usize) -> &'a str {
    let mut left = count;
    let mut in_code = false;
    let end = text.char_indices().find(|(_, c)| match (*c, in_code) {
        ('\x1b', false) => {
            in_code = true;
            left == 0
        }
        (c, true) => {
            in_code = !c.is_ascii_alphabetic();
            false
        }
        _ if left == 0 => true,
        _ => {
            left -= 1;
            false
        }
    });
    let (taken, rest) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    *text = rest;
    taken
}

/// Wraps a line into rows of at most `limit` columns. An empty line is one empty row.
pub fn rows(text: &Text, limit: usize) -> Vec<Row> {
    let fits = |row: &Row| row.width() + LEAST_ROOM <= limit;
    let mut prefix = Row::of(&text.prefix);
    let mut line = Row::of(&text.spans);
    if !fits(&prefix) {
        std::mem::swap(&mut prefix, &mut line);
        line.append(std::mem::take(&mut prefix));
    }
    let hang = Some(Row::of(&text.hang)).filter(fits).unwrap_or_default();
    let rooms =
        [limit.saturating_sub(prefix.width()).max(1), limit.saturating_sub(hang.width()).max(1)];
    let lengths = match text.at {
        Break::Words => between_words(&line, rooms),
        Break::Anywhere => anywhere(&line, rooms),
    };
    let mut cells = line.cells.into_iter();
    let mut start = prefix;
    let mut rows = Vec::with_capacity(lengths.len());
    for Length { shown, dropped } in lengths {
        start.cells.extend(cells.by_ref().take(shown));
        cells.by_ref().take(dropped).for_each(drop);
        rows.push(std::mem::replace(&mut start, hang.clone()));
    }
    rows
}

/// The characters that a row shows, and the spaces after them that no row shows.
struct Length {
    shown: usize,
    dropped: usize,
}

fn between_words(line: &Row, rooms: [usize; 2]) -> Vec<Length> {
    let text: String = line.cells.iter().map(|(c, _)| *c).collect();
    let words = break_words(filling(words(&text), rooms), rooms.into_iter().min().unwrap_or(1));
    let rooms = rooms.map(|room| room as f64);
    let length = |words: &[Word<'_>]| {
        let count = |text: &str| text.chars().count();
        let all: usize = words.iter().map(|word| count(word.word) + count(word.whitespace)).sum();
        let dropped = words.last().map_or(0, |word| count(word.whitespace));
        Length { shown: all - dropped, dropped }
    };
    wrap_first_fit(&words, &rooms).into_iter().map(length).collect()
}

/// Splits long words that would leave a row almost empty if they went to the next one: words of
/// more than half a row, after less than a quarter of one.
fn filling<'a>(words: impl Iterator<Item = &'a str>, [first, other]: [usize; 2]) -> Vec<Word<'a>> {
    let mut out = Vec::new();
    let mut room = first;
    let mut used = 0;
    for word in words {
        let mut rest = word;
        let bare: usize = word.trim_end_matches(' ').chars().map(width).sum();
        if used > 0 && used + bare > room {
            if used * 4 < room && bare * 2 > room {
                let head = fitting(rest, room - used);
                out.push(Word::from(head));
                rest = rest.get(head.len()..).unwrap_or_default();
            }
            room = other;
            used = 0;
        }
        used += rest.chars().map(width).sum::<usize>();
        out.push(Word::from(rest));
    }
    out
}

/// Returns the start of a word that fits into this many columns.
fn fitting(word: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = word.char_indices().find(|(_, c)| {
        used += width(*c);
        used > columns
    });
    word.get(..end.map_or(word.len(), |(at, _)| at)).unwrap_or(word)
}

/// Returns the parts of a text that a row may end after, each with the spaces after it. Flags and
/// paths stay whole if they fit.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let parts = linebreaks(text).map(move |(end, _)| {
        let word = text.get(start..end).unwrap_or_default();
        if word.ends_with(['-', '/']) && end < text.len() {
            return [None, None];
        }
        start = end;
        // Unicode keeps a slash on the row of the word before it, also after a space.
        match word.find(" /") {
            Some(at) => [word.get(..=at), word.get(at + 1..)],
            None => [Some(word), None],
        }
    });
    parts.flatten().flatten()
}

fn anywhere(line: &Row, rooms: [usize; 2]) -> Vec<Length> {
    let [first, other] = rooms;
    let mut lengths = Vec::new();
    let mut room = first;
    let mut shown = 0;
    let mut used = 0;
    for (c, _) in &line.cells {
        if used + width(*c) > room && shown > 0 {
            lengths.push(Length { shown, dropped: 0 });
            room = other;
            shown = 0;
            used = 0;
        }
        shown += 1;
        used += width(*c);
    }
    lengths.push(Length { shown, dropped: 0 });
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, hang: &str, limit: usize, at: Break) -> Vec<String> {
        let text = Text {
            prefix: Vec::new(),
            hang: vec![Span::plain(hang)],
            spans: vec![Span::plain(text)],
            at,
        };
        rows(&text, limit).iter().map(|row| row.text(false)).collect()
    }

    #[test]
    fn rows_end_between_words() {
        let text = "the tide is high at noon and low at six";
        assert_eq!(
            wrapped(text, "", 14, Break::Words),
            ["the tide is", "high at noon", "and low at six"]
        );
        assert_eq!(
            wrapped(text, "  ", 14, Break::Words),
            ["the tide is", "  high at noon", "  and low at", "  six"]
        );
    }

    #[test]
    fn a_word_longer_than_a_row_is_split() {
        assert_eq!(
            wrapped("see 0123456789abcdef ok", "", 10, Break::Words),
            ["see", "0123456789", "abcdef ok"]
        );
    }

    #[test]
    fn a_long_word_does_not_leave_a_row_almost_empty() {
        assert_eq!(
            wrapped("A path: /very/long/path", "", 20, Break::Words),
            ["A path:", "/very/long/path"]
        );
        assert_eq!(
            wrapped("A: /very/long/path/of", "", 20, Break::Words),
            ["A: /very/long/path/o", "f"]
        );
        assert_eq!(wrapped("a 0123456789 b", "", 10, Break::Words), ["a 01234567", "89 b"]);
        assert_eq!(wrapped("a 01234", "", 6, Break::Words), ["a", "01234"]);
    }

    #[test]
    fn flags_and_paths_stay_whole_if_they_fit() {
        assert_eq!(wrapped("start --resume", "", 10, Break::Words), ["start", "--resume"]);
        assert_eq!(wrapped("look in src/show", "", 12, Break::Words), ["look in", "src/show"]);
    }

    #[test]
    fn chinese_wraps_anywhere_except_before_closing_punctuation() {
        assert_eq!(wrapped("潮水涨得很高，很快", "", 12, Break::Words), ["潮水涨得很", "高，很快"]);
        assert_eq!(wrapped("水位water高", "", 8, Break::Words), ["水位", "water高"]);
        assert_eq!(wrapped("潮水「很高」", "", 6, Break::Words), ["潮水", "「很", "高」"]);
    }

    #[test]
    fn code_keeps_its_spaces() {
        assert_eq!(wrapped("if a  { b }", "", 5, Break::Anywhere), ["if a ", " { b ", "}"]);
    }

    #[test]
    fn styled_lines_keep_their_indentation_and_their_codes() {
        let red = anstyle::AnsiColor::Red.on_default();
        let text = format!("  {red}the tide is high{red:#} at noon\nok\tgo");
        assert_eq!(
            wrap_styled(&text, 14),
            format!("  {red}the tide is\n  high{red:#} at noon\nok    go")
        );
        assert_eq!(
            wrap_styled(&format!("{red}the tide{red:#} is"), 9),
            format!("{red}the tide{red:#}\nis")
        );
        assert_eq!(wrap_styled("0123456789abcdef", 10), "0123456789\nabcdef");
    }

    #[test]
    fn an_empty_line_is_one_empty_row() {
        assert_eq!(wrapped("", "", 10, Break::Words), [""]);
        assert_eq!(wrapped("", "", 10, Break::Anywhere), [""]);
    }

    #[test]
    fn a_prefix_is_on_the_first_row_only() {
        let text = Text {
            prefix: vec![Span::plain("• ")],
            hang: vec![Span::plain("  ")],
            spans: vec![Span::plain("the tide is high")],
            at: Break::Words,
        };
        let shown: Vec<String> = rows(&text, 12).iter().map(|row| row.text(false)).collect();
        assert_eq!(shown, ["• the tide", "  is high"]);
    }
}
