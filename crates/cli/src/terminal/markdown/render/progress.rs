//! Which lines of an unfinished text are final, and which are held back.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use super::block::Fence;
use super::{Renderer, first_line};

/// Removes an unfinished line of dashes, which may become a list or a rule, so that it does not
/// turn the line above into a heading.
pub(super) fn without_underline(source: &str) -> &str {
    let (above, last) = source.rsplit_once('\n').unwrap_or(("", source));
    let is_underline =
        !last.is_empty() && ["-", "="].iter().any(|sign| last.trim().replace(sign, "").is_empty());
    let end =
        if is_underline { above.len() + usize::from(source.contains('\n')) } else { source.len() };
    source.get(..end).unwrap_or(source)
}

impl Renderer<'_> {
    /// Returns the first line that is held back: a table, or lines that may become one.
    pub(super) fn held(&self, events: &[(Event<'_>, Range<usize>)]) -> Option<usize> {
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
    pub(super) fn complete(&self, events: &[(Event<'_>, Range<usize>)]) -> (usize, Option<String>) {
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
