//! Renders Markdown as lines of styled text, one per line of the source, so that poems, logs and
//! blank lines keep their shape. The parser is pulldown-cmark; this file styles its events. No text
//! is lost: a line that no event covers is shown unchanged.

mod block;
mod inline;
mod lines;
mod progress;

use std::ops::Range;

use anstyle::{AnsiColor, Effects, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::highlight::State;
use super::languages;
use super::table::Table;
use crate::show::DIM;
use crate::show::rows::{Row, Span, Text, rows};
use block::{Code, Container, Fence, marker};
use inline::{Link, is_reference, with_joiners};
use progress::without_underline;

const CODE: Style = AnsiColor::Cyan.on_default();

/// The width of a horizontal rule.
const RULE: usize = 40;

/// A rendered text.
pub struct Rendered {
    /// One line per line of the source, up to what is held back.
    pub lines: Vec<Line>,
    /// Lines before this one are final.
    pub complete: usize,
    /// The opening fence of the code block that the final lines end in.
    pub opening: Option<String>,
    /// The highlighting state after the final lines.
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
    /// The highlighting state before the next line of code, and before the last line.
    state: State,
    state_before: State,
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
            Tag::Strong | Tag::Emphasis if self.is_name(range) => {
                self.push(self.underscores(range), self.style());
                self.effects.push(self.active());
            }
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
            TagEnd::Strong | TagEnd::Emphasis if self.is_name(range) => {
                self.effects.pop();
                self.push(self.underscores(range), self.style());
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
}

impl<'a> Renderer<'a> {
    /// Returns the underscores that an emphasis starts with.
    fn underscores(&self, range: &Range<usize>) -> &'a str {
        let text = self.source.get(range.clone()).unwrap_or_default();
        text.get(..text.len() - text.trim_start_matches('_').len()).unwrap_or_default()
    }

    /// Returns whether an emphasis is part of a file name, such as `__init__.py` or `__pycache__/`.
    fn is_name(&self, range: &Range<usize>) -> bool {
        let mut after = self.source.get(range.end..).unwrap_or_default().chars();
        let is_joined = match after.next() {
            Some('.') => after.next().is_some_and(char::is_alphanumeric),
            next => next == Some('/'),
        };
        is_joined && !self.underscores(range).is_empty()
    }
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}
