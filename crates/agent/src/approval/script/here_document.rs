//! Here-documents (`<<END`), whose bodies follow after the line.

use super::Reader;

/// A here-document (`<<END`), whose body follows after the line.
pub(super) struct HereDocument {
    /// The line that ends it.
    pub(super) end: String,
    /// Whether commands in the body are run.
    pub(super) expands: bool,
}

impl<'a> Reader<'a> {
    /// Registers a here-document, whose body follows after this line.
    pub(super) fn await_body(&mut self, text: &'a str) {
        let text = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
        let ends = |c: char| c.is_whitespace() || ";|&<>()".contains(c);
        let (word, rest) =
            text.find(ends).and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
        let end: String = word.chars().filter(|c| !"\"'\\".contains(*c)).collect();
        self.rest = rest.chars();
        if !end.is_empty() {
            self.awaited.push(HereDocument { expands: end == word, end });
        }
    }

    /// Skips the bodies of here-documents. They are commands only if something runs them.
    pub(super) fn skip_bodies(&mut self) {
        for here in std::mem::take(&mut self.awaited) {
            let Some((body, rest)) = body(self.rest.as_str(), &here.end) else {
                self.endless = true;
                return;
            };
            self.rest = rest.chars();
            let is_script = here.expands && (body.contains("$(") || body.contains('`'));
            if is_script { self.scripts.push(body) } else { self.bodies.push(body) }
        }
    }
}

/// Returns the text up to the line that ends it, and the rest; `None` if no line ends it.
fn body<'a>(text: &'a str, end: &str) -> Option<(String, &'a str)> {
    let mut body = String::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (line, after) =
            text.split_once('\n').map_or((text, None), |(line, after)| (line, Some(after)));
        if line.trim_start_matches('\t') == end {
            return Some((body, after.unwrap_or_default()));
        }
        body.push_str(line);
        body.push('\n');
        rest = after;
    }
    None
}
