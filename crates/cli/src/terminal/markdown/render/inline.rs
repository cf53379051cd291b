//! Text inside a block: styles, links, and lines of code.

use std::borrow::Cow;
use std::ops::Range;

use anstyle::{Effects, Style};
use pulldown_cmark::LinkType;

use super::block::CODE_INDENT;
use super::{CODE, Renderer};
use crate::show::rows::{Break, Span};
use crate::show::{DIM, plain};
use crate::terminal::markdown::highlight;
use crate::terminal::markdown::languages::Language;

/// A noncharacter inserted between an emphasis mark and punctuation while the text is parsed.
pub(super) const JOINER: char = '\u{fdd0}';

/// An open link.
pub(super) struct Link {
    pub(super) kind: LinkType,
    pub(super) address: String,
    pub(super) label: String,
    /// The text of the link.
    pub(super) text: String,
}

/// Inserts a joiner between punctuation such as `。` and an emphasis mark. CommonMark's rules need
/// spaces to find the end of emphasis there, and Chinese and Japanese do not write any. The joiner
/// is neither a letter nor punctuation, so the mark is recognized.
pub(super) fn with_joiners(source: &str) -> Cow<'_, str> {
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

/// Returns whether a link has its address elsewhere. It is shown unchanged: the address may be far
/// away or may not have arrived yet.
pub(super) const fn is_reference(kind: LinkType) -> bool {
    matches!(kind, LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut)
}

/// The further indentation of a line of code that is continued.
const CONTINUED: usize = 2;

impl Renderer<'_> {
    pub(super) fn text(&mut self, text: &str, range: &Range<usize>) {
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
            let start = code.len() - code.trim_start_matches(' ').len();
            let hang = Span::plain(" ".repeat(indent.len() + start + CONTINUED));
            let line_of_code = self.open();
            line_of_code.at = Break::Anywhere;
            if !code.is_empty() {
                line_of_code.hang.push(hang);
            }
            if line.ends_with('\n') {
                self.state_before = self.state;
                self.go_to(self.lines.len() + 1);
            }
        }
    }

    /// Adds a line of code.
    pub(super) fn push_code(&mut self, language: Option<&'static Language>, code: &str) {
        let Some(language) = language else { return self.push(code, CODE) };
        let mut state = self.state;
        for Span { style, text } in highlight::line(language, &mut state, code) {
            self.push(&text, style);
        }
        self.state = state;
    }

    pub(super) fn end_link(&mut self) {
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

    /// Adds text to the line, the cell and the link, without control characters: an entity may
    /// encode one.
    pub(super) fn push(&mut self, text: &str, style: Style) {
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

    pub(super) fn active(&self) -> Effects {
        self.effects.last().copied().unwrap_or_default()
    }

    pub(super) fn style(&self) -> Style {
        self.active().into()
    }
}
