//! Renders Markdown as lines of styled text, one per line of the source, so that poems, logs and
//! blank lines keep their shape. The parser is pulldown-cmark; this file styles its events. No text
//! is lost: a line that no event covers is shown unchanged.

use std::borrow::Cow;
use std::ops::Range;

use anstyle::{AnsiColor, Effects, Style};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::highlight::{self, State};
use super::languages::{self, Language};
use super::table::Table;
use crate::show::rows::{Break, Row, Span, Text, columns, rows};
use crate::show::{DIM, plain};

const CODE: Style = AnsiColor::Cyan.on_default();

/// Fences are not shown, so code is indented.
const CODE_INDENT: &str = "  ";

/// The width of a horizontal rule.
const RULE: usize = 40;

/// The deepest nesting of quotes and lists that is drawn.
const MAX_DEPTH: usize = 16;

/// A noncharacter inserted between an emphasis mark and punctuation while the text is parsed.
const JOINER: char = '\u{fdd0}';

/// A rendered text.
pub struct Rendered {
    /// One line per line of the source, up to what is held back.
    pub lines: Vec<Line>,
    /// Lines before this one are final.
    pub complete: usize,
    /// The opening fence of the code block that the final lines end in.
    pub opening: Option<String>,
    /// What the code after the final lines continues.
    pub state: State,
    /// Whether a table is held back until it is complete.
    pub holds_back: bool,
}

/// A rendered line of the source.
pub enum Line {
    Text(Text),
    /// A table is on its first line; its other lines are empty.
    Rows(Vec<Row>),
}

impl Line {
    pub fn rows(&self, limit: usize) -> Vec<Row> {
        match self {
            Self::Text(text) => rows(text, limit),
            Self::Rows(rows) => rows.clone(),
        }
    }
}

/// Renders a text for rows of at most `limit` columns. Unless the text is whole, lines that may
/// become a table are held back. `state` is what a code block at the start continues.
pub fn render(source: &str, limit: usize, is_whole: bool, state: State) -> Rendered {
    let source = with_joiners(if is_whole { source } else { without_underline(source) });
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events: Vec<(Event<'_>, Range<usize>)> =
        Parser::new_ext(&source, options).into_offset_iter().collect();
    let mut renderer = Renderer::new(&source, limit, state);
    let held = if is_whole { None } else { renderer.held(&events) };
    let (complete, opening) = renderer.complete(&events);
    for (event, range) in events {
        if held.is_some_and(|held| renderer.line_of(range.start) >= held) {
            break;
        }
        renderer.handle(event, range);
    }
    renderer.go_to(held.unwrap_or(renderer.starts.len() - 1));
    let last = renderer.line.take().unwrap_or_else(|| match held {
        Some(_) => Text::default(),
        None => renderer.uncovered(),
    });
    if renderer.lines.len() < renderer.starts.len() {
        renderer.lines.push(Line::Text(last));
    }
    let state = renderer.state_before;
    Rendered { lines: renderer.lines, complete, opening, state, holds_back: held.is_some() }
}

/// Removes an unfinished line of dashes, which may become a list or a rule, so that it does not
/// turn the line above into a heading.
fn without_underline(source: &str) -> &str {
    let (above, last) = source.rsplit_once('\n').unwrap_or(("", source));
    let is_underline =
        !last.is_empty() && ["-", "="].iter().any(|sign| last.trim().replace(sign, "").is_empty());
    let end =
        if is_underline { above.len() + usize::from(source.contains('\n')) } else { source.len() };
    source.get(..end).unwrap_or(source)
}

/// Inserts a joiner between punctuation such as `。` and an emphasis mark. CommonMark's rules need
/// spaces to find the end of emphasis there, and Chinese and Japanese do not write any. The joiner
/// is neither a letter nor punctuation, so the mark is recognized.
fn with_joiners(source: &str) -> Cow<'_, str> {
    if !source.contains(['*', '~', JOINER]) {
        return Cow::Borrowed(source);
    }
    let is_wide_punctuation = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
    let mut out = String::with_capacity(source.len());
    let mut before = ' ';
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        let mark = if c == JOINER { char::REPLACEMENT_CHARACTER } else { c };
        if !matches!(mark, '*' | '~') {
            out.push(mark);
            before = mark;
            continue;
        }
        let mut run = String::from(mark);
        while let Some(next) = chars.next_if_eq(&mark) {
            run.push(next);
        }
        let after = chars.peek().copied().unwrap_or(' ');
        if is_wide_punctuation(before) && after.is_alphanumeric() {
            out.push(JOINER);
        }
        out += &run;
        if is_wide_punctuation(after) && before.is_alphanumeric() {
            out.push(JOINER);
        }
        before = mark;
    }
    Cow::Owned(out)
}

/// A block that contains the line.
enum Container {
    Quote,
    /// A list item, with the width of its marker.
    Item(usize),
}

/// An open link.
struct Link {
    kind: LinkType,
    address: String,
    label: String,
    /// The text of the link.
    text: String,
}

/// The opening fence of a code block.
struct Fence {
    mark: char,
    length: usize,
}

struct Renderer<'a> {
    source: &'a str,
    limit: usize,
    /// The offset of each line in the source.
    starts: Vec<usize>,
    lines: Vec<Line>,
    /// The line after these, once it has text.
    line: Option<Text>,
    containers: Vec<Container>,
    /// The effects of the enclosing elements; the last one applies.
    effects: Vec<Effects>,
    links: Vec<Link>,
    table: Option<Table>,
    /// Set inside a code block.
    code: Option<Code>,
    /// What the next line of code continues, and the same before the last line.
    state: State,
    state_before: State,
}

/// A code block.
struct Code {
    /// The opening fence; none if the block is indented.
    fence: Option<Fence>,
    language: Option<&'static Language>,
}

impl<'a> Renderer<'a> {
    fn new(source: &'a str, limit: usize, state: State) -> Self {
        let starts = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1));
        Self {
            source,
            limit,
            starts: starts.collect(),
            lines: Vec::new(),
            line: None,
            containers: Vec::new(),
            effects: Vec::new(),
            links: Vec::new(),
            table: None,
            code: None,
            state,
            state_before: State::default(),
        }
    }

    fn handle(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, &range),
            Event::End(tag) => self.end(tag, &range),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.text(&text, &range)
            }
            Event::Code(code) => {
                self.go_to_start(&range);
                self.push(&code, CODE.effects(self.active()));
            }
            Event::Rule => {
                self.go_to_start(&range);
                self.push(&"─".repeat(self.limit.min(RULE)), DIM);
            }
            // Line breaks come from the source.
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        if !matches!(tag, Tag::Table(_)) {
            self.go_to_start(range);
        }
        match tag {
            Tag::Heading { .. } | Tag::Strong => self.effects.push(self.active() | Effects::BOLD),
            Tag::Emphasis => self.effects.push(self.active() | Effects::ITALIC),
            // A single tilde is text.
            Tag::Strikethrough if !self.slice(range).starts_with("~~") => {
                self.push("~", self.style());
                self.effects.push(self.active());
            }
            Tag::Strikethrough => self.effects.push(self.active() | Effects::STRIKETHROUGH),
            Tag::BlockQuote(_) => {
                self.enter(Container::Quote, Span::new(DIM, "│ "), Span::new(DIM, "│ "))
            }
            Tag::Item => {
                let marker = marker(self.slice(range));
                let width = marker.chars().count();
                self.enter(
                    Container::Item(width),
                    Span::plain(marker),
                    Span::plain(" ".repeat(width)),
                );
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let fence = Fence::of(first_line(self.slice(range)).trim());
                self.code = Some(Code { fence, language: languages::language(&info) });
                if range.start > 0 {
                    self.state = State::default();
                }
                self.fence_line(&info, range);
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => {
                self.code = Some(Code { fence: None, language: None });
            }
            Tag::Link { link_type, dest_url, id, .. }
            | Tag::Image { link_type, dest_url, id, .. } => {
                if is_reference(link_type) {
                    self.push("[", self.style());
                }
                self.links.push(Link {
                    kind: link_type,
                    address: dest_url.into_string(),
                    label: id.into_string(),
                    text: String::new(),
                });
            }
            Tag::Table(alignments) => self.table = Some(Table::new(&alignments)),
            Tag::TableHead => self.effects.push(self.active() | Effects::BOLD),
            Tag::TableCell => self.table.iter_mut().for_each(Table::begin_cell),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Heading(_) => {
                self.effects.pop();
                // The underline of a heading is not shown.
                self.cover(self.end_of(range));
            }
            TagEnd::Strikethrough if !self.slice(range).starts_with("~~") => {
                self.effects.pop();
                self.push("~", self.style());
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.effects.pop();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.end_code(range),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableHead => {
                self.effects.pop();
                self.table.iter_mut().for_each(Table::end_row);
            }
            TagEnd::TableRow => self.table.iter_mut().for_each(Table::end_row),
            TagEnd::Table => self.end_table(range),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, range: &Range<usize>) {
        self.go_to_start(range);
        let Some(code) = &self.code else {
            let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
            for (at, line) in lines.enumerate() {
                if at > 0 {
                    self.go_to(self.lines.len() + 1);
                }
                self.push(line, self.style());
            }
            return;
        };
        let indent = if code.fence.is_none() { "    " } else { CODE_INDENT };
        let language = code.language;
        for line in text.split_inclusive('\n') {
            self.state_before = self.state;
            let code = line.strip_suffix('\n').unwrap_or(line);
            if !code.is_empty() {
                self.push(indent, Style::new());
                self.push_code(language, code);
            }
            self.open().at = Break::Anywhere;
            if line.ends_with('\n') {
                self.state_before = self.state;
                self.go_to(self.lines.len() + 1);
            }
        }
    }

    /// Adds a line of code.
    fn push_code(&mut self, language: Option<&'static Language>, code: &str) {
        let Some(language) = language else { return self.push(code, CODE) };
        let mut state = self.state;
        for Span { style, text } in highlight::line(language, &mut state, code) {
            self.push(&text, style);
        }
        self.state = state;
    }

    /// Shows the language instead of the opening fence; without one, the line is left out unless
    /// it is the last one so far, or starts a quote or an item.
    fn fence_line(&mut self, info: &str, range: &Range<usize>) {
        let is_first = self.line.is_some();
        let is_last = self.line_of(range.start) + 1 == self.starts.len();
        match info.split_whitespace().next() {
            Some(name) => self.push(&format!("{CODE_INDENT}{name}"), DIM),
            None if is_last => self.push(first_line(self.slice(range)).trim(), DIM),
            None if is_first => {}
            None => self.cover(self.lines.len() + 1),
        }
    }

    fn end_code(&mut self, range: &Range<usize>) {
        if let Some(Code { fence: Some(fence), .. }) = self.code.take()
            && let Some((_, last)) = self.slice(range).trim_end().rsplit_once('\n')
            && fence.closes(last)
        {
            // The closing fence is not shown.
            self.go_to(self.end_of(range) - 1);
            self.line = None;
            self.cover(self.end_of(range));
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        match link.kind {
            LinkType::Inline if link.address != link.text => {
                self.push(&format!(" ({})", link.address), DIM)
            }
            LinkType::Reference => self.push(&format!("][{}]", link.label), self.style()),
            LinkType::Collapsed => self.push("][]", self.style()),
            LinkType::Shortcut => self.push("]", self.style()),
            _ => {}
        }
    }

    fn end_table(&mut self, range: &Range<usize>) {
        let Some(table) = self.table.take() else { return };
        self.go_to_start(range);
        // If there is no room for it, its lines are shown unchanged.
        let Some(table_rows) = table.rows(self.limit.saturating_sub(columns(&self.prefix())))
        else {
            return;
        };
        let Text { mut prefix, hang, .. } = self.line.take().unwrap_or_else(|| self.empty_line());
        let mut rows = Vec::with_capacity(table_rows.len());
        for row in table_rows {
            let mut whole = Row::of(&std::mem::replace(&mut prefix, hang.clone()));
            whole.append(row);
            rows.push(whole);
        }
        self.lines.push(Line::Rows(rows));
        self.cover(self.end_of(range));
    }

    /// Starts a quote or an item on the current line.
    fn enter(&mut self, container: Container, first: Span, other: Span) {
        self.open();
        if self.containers.len() < MAX_DEPTH {
            let line = self.open();
            line.prefix.push(first);
            line.hang.push(other);
        }
        self.containers.push(container);
    }

    /// Returns the prefix of a line that continues the containers.
    fn prefix(&self) -> Vec<Span> {
        let span = |container: &Container| match container {
            Container::Quote => Span::new(DIM, "│ "),
            Container::Item(width) => Span::plain(" ".repeat(*width)),
        };
        self.containers.iter().take(MAX_DEPTH).map(span).collect()
    }

    /// Returns a line with only the prefix of its containers.
    fn empty_line(&self) -> Text {
        Text { prefix: self.prefix(), hang: self.prefix(), ..Text::default() }
    }

    /// Returns the current line.
    fn open(&mut self) -> &mut Text {
        let line = self.line.take().unwrap_or_else(|| self.empty_line());
        self.line.insert(line)
    }

    /// Adds text to the line, the cell and the link, without control characters: an entity may
    /// encode one.
    fn push(&mut self, text: &str, style: Style) {
        let text = plain(&text.replace(JOINER, ""));
        if let Some(link) = self.links.last_mut() {
            link.text += &text;
        }
        let span = Span::new(style, text);
        match &mut self.table {
            Some(table) => table.push(span),
            None => self.open().spans.push(span),
        }
    }

    fn active(&self) -> Effects {
        self.effects.last().copied().unwrap_or_default()
    }

    fn style(&self) -> Style {
        self.active().into()
    }

    fn slice(&self, range: &Range<usize>) -> &'a str {
        self.source.get(range.clone()).unwrap_or_default()
    }

    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the line after a block.
    fn end_of(&self, range: &Range<usize>) -> usize {
        self.line_of(range.start + self.slice(range).trim_end().len().saturating_sub(1)) + 1
    }

    fn go_to_start(&mut self, range: &Range<usize>) {
        if self.table.is_none() {
            self.go_to(self.line_of(range.start));
        }
    }

    /// Ends lines until this one is the current one.
    fn go_to(&mut self, number: usize) {
        while self.lines.len() < number {
            let line = self.line.take().unwrap_or_else(|| self.uncovered());
            self.lines.push(Line::Text(line));
        }
    }

    /// Ends the current line, and leaves the lines up to this one empty.
    fn cover(&mut self, number: usize) {
        if let Some(line) = self.line.take() {
            self.lines.push(Line::Text(line));
        }
        while self.lines.len() < number {
            self.lines.push(Line::Rows(Vec::new()));
        }
    }

    /// Returns the next line unchanged: no event covers it. Usually it is empty.
    fn uncovered(&self) -> Text {
        let at = self.lines.len();
        let start = self.starts.get(at).copied().unwrap_or(self.source.len());
        let line = first_line(self.source.get(start..).unwrap_or_default());
        let is_quoted =
            self.containers.iter().any(|container| matches!(container, Container::Quote));
        let text = line.trim_start_matches(|c| c == ' ' || (c == '>' && is_quoted));
        let mut prefix = self.prefix();
        if text.trim().is_empty() && !is_quoted {
            prefix.clear();
        }
        let spans = vec![Span::plain(plain(&text.trim_end().replace(JOINER, "")))];
        Text { hang: prefix.clone(), prefix, spans, at: Break::Anywhere }
    }

    /// Returns the first line that is held back: a table, or lines that may become one.
    fn held(&self, events: &[(Event<'_>, Range<usize>)]) -> Option<usize> {
        let is_block = |tag: &Tag<'_>| {
            matches!(
                tag,
                Tag::Paragraph
                    | Tag::Heading { .. }
                    | Tag::CodeBlock(_)
                    | Tag::HtmlBlock
                    | Tag::Table(_)
            )
        };
        let (tag, range) = events.iter().rev().find_map(|(event, range)| match event {
            Event::Start(tag) if is_block(tag) => Some((Some(tag), range)),
            // The text of an item may be outside any paragraph.
            Event::Start(Tag::Item) | Event::Rule => Some((None, range)),
            _ => None,
        })?;
        let end = self.end_of(range);
        // A blank line after it completes it.
        if end + 1 < self.starts.len() {
            return None;
        }
        match tag {
            Some(Tag::Table(_)) => Some(self.line_of(range.start)),
            Some(Tag::Paragraph) => {
                let first = self.line_of(range.start);
                let lines = self.slice(range).trim_end().split('\n').rev();
                let held = lines.take_while(|line| line.trim_start().starts_with('|')).count();
                Some(end - held).filter(|from| held > 0 && *from >= first)
            }
            _ => None,
        }
    }

    /// Returns the line before which everything is final, and the opening fence of the code block
    /// that continues there.
    fn complete(&self, events: &[(Event<'_>, Range<usize>)]) -> (usize, Option<String>) {
        let unfinished = self.starts.len() - 1;
        let mut depth = 0_usize;
        let mut complete = 0;
        let mut opening = None;
        for (event, range) in events {
            let line = self.line_of(range.start);
            // The start of a block is final once its first line is complete.
            let starts = depth == 0 || (depth == 1 && matches!(event, Event::Start(Tag::Item)));
            if starts && line < unfinished && matches!(event, Event::Start(_) | Event::Rule) {
                complete = line;
                opening = None;
            }
            if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) = event
                && depth == 0
                && unfinished > line + 1
                && self.is_open(range)
            {
                complete = unfinished;
                opening = Some(first_line(self.slice(range)).trim().to_owned());
            }
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
        }
        (complete, opening)
    }

    /// Returns whether the closing fence of a code block is missing.
    fn is_open(&self, range: &Range<usize>) -> bool {
        let block = self.slice(range);
        let fence = Fence::of(first_line(block).trim());
        let last = block.trim_end().rsplit_once('\n').map(|(_, last)| last);
        last.is_none_or(|last| fence.is_none_or(|fence| !fence.closes(last)))
    }
}

impl Fence {
    fn of(opening: &str) -> Option<Self> {
        let mark = opening.chars().next()?;
        Some(Self { mark, length: opening.chars().take_while(|c| *c == mark).count() })
    }

    /// Whether a line is the closing fence.
    fn closes(&self, line: &str) -> bool {
        let bare = line.trim_start_matches([' ', '>']).trim_end();
        bare.len() >= self.length && bare.chars().all(|c| c == self.mark)
    }
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

/// Returns the marker of a list item as it is shown.
fn marker(item: &str) -> String {
    let marker = item.trim_start().split([' ', '\n']).next().unwrap_or_default();
    if marker.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{marker} ")
    } else {
        "• ".to_owned()
    }
}

/// Returns whether a link has its address elsewhere. It is shown unchanged: the address may be far
/// away or may not have arrived yet.
const fn is_reference(kind: LinkType) -> bool {
    matches!(kind, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut)
}
