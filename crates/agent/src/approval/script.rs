//! Finds the commands in a shell script, with their words unquoted. A word in a quoted text or a
//! file name is then not mistaken for a command, and a command is found however it is quoted. Risk
//! patterns match against the result.
//!
//! It reads any text in linear time, and reports when it could not read all of it. It expands no
//! variables, and it is not a security boundary: the kernel's sandbox is. Decision 0022 explains
//! why this is not a full parser.

mod escape;
mod here_document;
mod level;

use std::str::Chars;

use here_document::HereDocument;
use level::{Level, RUNNERS};

/// Precedes each word that is run.
pub(super) const MARK: char = '\u{1}';

/// Maximum number of scripts read, including nested ones.
const MAX_SCRIPTS: usize = 50;

/// Maximum number of bytes read in all scripts.
const MAX_BYTES: usize = 500_000;

/// Marks a text that was not read, or that has unclosed quotes, brackets or here-documents.
pub(super) const UNREAD: &str = "\u{1}[unread]";

/// Commands that can run a file, which the same script may have written.
const FILE_RUNNERS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "eval", "source", ".", "chmod"];

/// Returns the commands of a script, one pipeline per line, in the order they run. Words are
/// separated by one space. [`MARK`] precedes each word that is run, and its directory is removed.
///
/// The last line is [`UNREAD`] if the script could not be read completely.
pub(super) fn commands(text: &str) -> String {
    let mut lines = Vec::new();
    let mut scripts = vec![text.to_owned()];
    let mut is_unread = false;
    let mut room = MAX_BYTES;
    for _ in 0..MAX_SCRIPTS {
        let Some(script) = scripts.pop_if(|script| script.len() <= room) else { break };
        room -= script.len();
        let read = Reader::read(&script);
        lines.extend(read.lines);
        scripts.extend(read.scripts);
        is_unread |= read.has_no_end;
        if read.unclosed {
            // It may have been an apostrophe instead of a quote, which must not hide anything.
            scripts.push(script.replace(['"', '\''], ""));
        }
    }
    if is_unread || !scripts.is_empty() {
        lines.push(UNREAD.to_owned());
    }
    lines.join("\n")
}

struct Reader<'a> {
    rest: Chars<'a>,
    level: Level,
    outer: Vec<Level>,
    lines: Vec<String>,
    /// Words and bodies that are scripts themselves.
    scripts: Vec<String>,
    awaited: Vec<HereDocument>,
    /// Bodies of here-documents that become files or input.
    bodies: Vec<String>,
    /// Whether a here-document had no end; the rest is then read as commands.
    endless: bool,
    /// Whether a quote was not closed.
    unclosed: bool,
    /// Whether a quote, a bracket or a here-document was not closed.
    has_no_end: bool,
}

impl<'a> Reader<'a> {
    fn read(text: &'a str) -> Self {
        let mut reader = Self {
            rest: text.chars(),
            level: Level::new(None),
            outer: Vec::new(),
            lines: Vec::new(),
            scripts: Vec::new(),
            awaited: Vec::new(),
            bodies: Vec::new(),
            endless: false,
            unclosed: false,
            has_no_end: false,
        };
        while let Some(c) = reader.rest.next() {
            reader.take(c);
        }
        reader.has_no_end =
            reader.endless || !reader.awaited.is_empty() || !reader.outer.is_empty();
        loop {
            reader.unclosed |= reader.level.quoted;
            reader.end_line();
            let Some(outer) = reader.outer.pop() else { break };
            reader.level = outer;
        }
        reader.has_no_end |= reader.unclosed;
        if reader.lines.iter().any(|line| runs_files(line)) {
            reader.scripts.append(&mut reader.bodies);
        }
        reader
    }

    fn take(&mut self, c: char) {
        let next = self.rest.clone().next();
        match c {
            '\\' => {
                if let Some(c) = self.rest.next().filter(|c| *c != '\n') {
                    self.level.push(c);
                }
            }
            '$' if next == Some('(') => {
                self.rest.next();
                self.level.push('$');
                self.open(')');
            }
            '`' if self.level.closes == Some('`') => self.close('`'),
            '`' => {
                self.level.push('$');
                self.open('`');
            }
            '"' => {
                self.level.quoted = !self.level.quoted;
                self.level.word();
            }
            _ if self.level.quoted => self.level.push(c),
            '$' if next == Some('\'') => {
                self.rest.next();
                self.quote(true);
            }
            '$' if next == Some('"') => {}
            '\'' => self.quote(false),
            '<' | '>' => self.redirect(c),
            '|' | '&' if self.level.redirects() => self.level.push(c),
            '(' => self.open(')'),
            ')' => self.close(')'),
            '|' => self.pipe(next),
            '&' if next == Some('>') => {
                self.end_word();
                self.level.push(c);
            }
            ';' | '&' => self.end_line(),
            '\n' => {
                self.end_line();
                self.skip_bodies();
            }
            '#' if self.level.word.is_none() => self.skip_comment(),
            _ if c.is_whitespace() => self.end_word(),
            _ => self.level.push(c),
        }
    }

    /// Ends the current word.
    fn end_word(&mut self) {
        let Some(word) = self.level.word.take() else { return };
        let shown = word.replace('\n', " ");
        // In `$((…))` a variable is a number.
        let is_number = self.level.is_arithmetic && word.contains('$');
        if !self.level.is_run(&word) || is_number {
            self.level.write(&shown);
            return;
        }
        let is_script = word.contains(char::is_whitespace);
        let name = if is_script { shown.as_str() } else { without_directory(&word) };
        let runner = RUNNERS.iter().find(|(runner, _)| *runner == name);
        self.level.value_flags = runner.map(|(_, value_flags)| *value_flags);
        self.level.expects_command = runner.is_some();
        self.level.write(&format!("{MARK}{name}"));
        if is_script {
            self.scripts.push(word);
        } else if let Some(words) = without_braces(&word) {
            self.scripts.push(words);
        }
    }

    /// Ends the current pipeline.
    fn end_line(&mut self) {
        self.end_word();
        let Level { closes, quoted, is_arithmetic, .. } = self.level;
        let next = Level { quoted, is_arithmetic, ..Level::new(closes) };
        let line = std::mem::replace(&mut self.level, next).line;
        if !line.is_empty() {
            self.lines.push(line);
        }
    }

    /// Handles `|`, `||` and `|&`.
    fn pipe(&mut self, next: Option<char>) {
        if matches!(next, Some('|' | '&')) {
            self.rest.next();
        }
        if next == Some('|') {
            self.end_line();
            return;
        }
        self.end_word();
        self.level.write("|");
        self.level.expects_command = true;
        self.level.skips_next = false;
        self.level.value_flags = None;
    }

    /// Opens a level for commands inside a word or in brackets. They run before the outer command.
    fn open(&mut self, closes: char) {
        self.level.word().push_str("()");
        let is_arithmetic =
            closes == ')' && (self.level.is_arithmetic || self.rest.as_str().starts_with('('));
        let inner = Level { is_arithmetic, ..Level::new(Some(closes)) };
        self.outer.push(std::mem::replace(&mut self.level, inner));
    }

    fn close(&mut self, closes: char) {
        self.end_line();
        if self.level.closes == Some(closes)
            && let Some(outer) = self.outer.pop()
        {
            self.level = outer;
        }
    }

    /// Reads text in single quotes, with escapes for `$'…'`.
    fn quote(&mut self, escapes: bool) {
        self.level.word();
        while let Some(c) = self.rest.next() {
            match c {
                '\'' => return,
                '\\' if escapes => {
                    if let Some(c) = escape::decode(&mut self.rest) {
                        self.level.push(c);
                    }
                }
                _ => self.level.push(c),
            }
        }
        self.unclosed = true;
    }

    fn redirect(&mut self, c: char) {
        let text = self.rest.as_str();
        if self.level.is_arithmetic {
            self.level.push(c);
        } else if c == '<'
            && let Some(rest) = text.strip_prefix("<<")
        {
            // A here-string: the next word is read where a script could be.
            self.end_word();
            self.rest = rest.chars();
        } else if c == '<'
            && !self.endless
            && let Some(rest) = text.strip_prefix('<')
        {
            self.end_word();
            self.await_body(rest);
        } else {
            // Limited in length, so that a long word is not scanned again for each character.
            let number = |word: &String| {
                word.len() < 12 && word.chars().all(|c| c.is_ascii_digit() || "<>&".contains(c))
            };
            if !self.level.word.as_ref().is_some_and(number) {
                self.end_word();
            }
            self.level.push(c);
        }
    }

    fn skip_comment(&mut self) {
        let text = self.rest.as_str();
        self.rest = text.find('\n').and_then(|at| text.get(at..)).unwrap_or_default().chars();
    }
}

/// Returns a program name without its directory.
fn without_directory(word: &str) -> &str {
    word.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(word)
}

/// Returns the words that a shell makes of `{rm,-rf,/}`.
fn without_braces(word: &str) -> Option<String> {
    let inner = word.strip_prefix('{')?.strip_suffix('}')?;
    inner.contains(',').then(|| inner.replace(',', " "))
}

fn runs_files(line: &str) -> bool {
    let mut run = line.split(MARK).skip(1).filter_map(|command| command.split(' ').next());
    run.any(|name| FILE_RUNNERS.contains(&name))
}

#[cfg(test)]
mod tests;
