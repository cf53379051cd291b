//! Finds the commands in a shell script, with their words unquoted. A word in a quoted text or a
//! file name is then not mistaken for a command, and a command is found however it is quoted. Risk
//! patterns match against the result.
//!
//! It reads any text in linear time, and reports when it could not read all of it. It expands no
//! variables, and it is not a security boundary: the kernel's sandbox is. Decision 0022 explains
//! why this is not a full parser.

use std::str::Chars;

/// Precedes each word that is run.
pub(super) const MARK: char = '\u{1}';

/// Maximum number of scripts read, including nested ones.
const MAX_SCRIPTS: usize = 50;

/// Maximum number of bytes read in all scripts.
const MAX_BYTES: usize = 500_000;

/// Marks a text that was not read, or that has unclosed quotes, brackets or here-documents.
pub(super) const UNREAD: &str = "\u{1}[unread]";

/// Commands and keywords that run the next word as a command, with the letters of their flags that
/// take a value.
const RUNNERS: &[(&str, &str)] = &[
    ("sudo", "ugpChTDR"),
    ("doas", "uC"),
    ("su", ""),
    ("pkexec", ""),
    ("env", "uC"),
    ("xargs", "nIPLdsaE"),
    ("nice", "n"),
    ("ionice", "cnp"),
    ("timeout", "sk"),
    ("time", "fo"),
    ("watch", "n"),
    ("stdbuf", "ioe"),
    ("exec", "a"),
    ("nohup", ""),
    ("setsid", ""),
    ("command", ""),
    ("builtin", ""),
    ("busybox", ""),
    ("eval", ""),
    ("trap", ""),
    ("sh", "oO"),
    ("bash", "oO"),
    ("dash", "oO"),
    ("zsh", "oO"),
    ("ksh", "oO"),
    ("fish", ""),
    ("!", ""),
    ("{", ""),
    ("if", ""),
    ("then", ""),
    ("elif", ""),
    ("else", ""),
    ("while", ""),
    ("until", ""),
    ("do", ""),
];

/// Arguments that are followed by a command.
const OPENERS: &[&str] = &["{", "-exec", "-execdir", "-ok", "-okdir"];

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

/// The state of one nesting level: the top level, or the commands inside brackets.
struct Level {
    /// The character that closes the level.
    closes: Option<char>,
    line: String,
    word: Option<String>,
    /// Inside double quotes.
    quoted: bool,
    /// Inside `((`, where `<<` is a shift operator.
    is_arithmetic: bool,
    /// Whether the next word may be run.
    expects_command: bool,
    /// Whether the next word is the value of the previous one.
    skips_next: bool,
    /// After a runner: the letters of its flags that take a value.
    value_flags: Option<&'static str>,
}

impl Level {
    const fn new(closes: Option<char>) -> Self {
        Self {
            closes,
            line: String::new(),
            word: None,
            quoted: false,
            is_arithmetic: false,
            expects_command: true,
            skips_next: false,
            value_flags: None,
        }
    }

    /// Returns the word being read.
    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        if c != MARK {
            self.word().push(c);
        }
    }

    fn write(&mut self, text: &str) {
        if !self.line.is_empty() {
            self.line.push(' ');
        }
        self.line.push_str(text);
    }

    /// Returns whether the word being read is a redirection.
    fn redirects(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.ends_with(['<', '>']))
    }

    /// Returns whether a word is run, and updates what the next word can be.
    fn is_run(&mut self, word: &str) -> bool {
        if !self.expects_command {
            self.expects_command = OPENERS.contains(&word);
            return false;
        }
        if std::mem::take(&mut self.skips_next) || is_assignment(word) {
            return false;
        }
        let file = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if file.starts_with(['<', '>']) {
            self.skips_next = file.trim_start_matches(['<', '>', '&', '|']).is_empty();
            return false;
        }
        let Some(value_flags) = self.value_flags else { return true };
        if let Some(letters) = word.strip_prefix('-') {
            let plain = letters.chars().all(|c| c.is_ascii_alphanumeric());
            self.skips_next =
                plain && letters.chars().next_back().is_some_and(|last| value_flags.contains(last));
            return false;
        }
        // A duration or a count.
        !word.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// A here-document (`<<END`), whose body follows after the line.
struct HereDocument {
    /// The line that ends it.
    end: String,
    /// Whether commands in the body are run.
    expands: bool,
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
                self.open(')');
            }
            '`' if self.level.closes == Some('`') => self.close('`'),
            '`' => self.open('`'),
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
        if !self.level.is_run(&word) {
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
        self.level.word().push_str("$()");
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
                    if let Some(c) = self.rest.next() {
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

    /// Registers a here-document, whose body follows after this line.
    fn await_body(&mut self, text: &'a str) {
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
    fn skip_bodies(&mut self) {
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

    fn skip_comment(&mut self) {
        let text = self.rest.as_str();
        self.rest = text.find('\n').and_then(|at| text.get(at..)).unwrap_or_default().chars();
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

/// Returns whether a word is `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name && name.starts_with(|c: char| !c.is_ascii_digit())
    })
}

/// Returns a program name without its directory.
fn without_directory(word: &str) -> &str {
    word.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(word)
}

fn runs_files(line: &str) -> bool {
    let mut run = line.split(MARK).skip(1).filter_map(|command| command.split(' ').next());
    run.any(|name| FILE_RUNNERS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_where_they_start() {
        let texts = [
            ("ls -la", "»ls -la"),
            ("a; b && c || d & e\nf", "»a\n»b\n»c\n»d\n»e\n»f"),
            ("a | b |& c", "»a | »b | »c"),
            ("X=1 Y='2 3' /bin/rm -r x", "X=1 Y=2 3 »rm -r x"),
            ("sudo -u root env A=b nice -n 5 rm x", "»sudo -u root »env A=b »nice -n 5 »rm x"),
            ("if a; then b; else c; fi", "»if »a\n»then »b\n»else »c\n»fi"),
            ("find . -exec rm {} \\; -print", "»find . -exec »rm {} ; -print"),
            (
                "timeout -s KILL 5s xargs -0 -I {} cp {} x",
                "»timeout -s KILL 5s »xargs -0 -I {} »cp {} x",
            ),
            ("> log 2>&1 a >b c", "> log 2>&1 »a >b c"),
            ("a&>b; c>d", "»a &>b\n»c >d"),
            ("# b\na # c", "»a"),
        ];
        for (text, expected) in texts {
            assert_eq!(commands(text).replace(MARK, "»"), expected, "{text}");
        }
    }

    #[test]
    fn quotes_neither_hide_nor_create_commands() {
        let texts = [
            (r#"r\m "-r" $'x' '; b'"#, "»rm -r x ; b"),
            ("\"a b\" \\\n c", "»a b c\n»a b"),
            ("echo \"$(a \"$(b)\") c\" d", "»b\n»a $()\n»echo $() c d"),
            ("echo `a`; (b)", "»a\n»echo $()\n»b\n»$()"),
            ("bash -lc 'a; b'", "»bash -lc »a; b\n»a\n»b"),
            ("bash <<< 'a; b'", "»bash »a; b\n»a\n»b"),
            ("echo don't; a", "»echo dont; a\n»echo dont\n»a\n»[unread]"),
        ];
        for (text, expected) in texts {
            assert_eq!(commands(text).replace(MARK, "»"), expected, "{text}");
        }
    }

    #[test]
    fn here_documents_are_scripts_only_if_something_runs_them() {
        let texts = [
            ("cat <<'E' > x\na don't\nE\nb", "»cat > x\n»b"),
            ("sh <<-E\n\ta\n\tE\nb", "»sh\n»b\n»a"),
            ("cat <<E\n$(a)\nE", "»cat\n»a\n»$()"),
            ("echo $((1<<2))\na", "1<<2\n»$()\n»echo $()\n»a"),
            ("cat <<E\na", "»cat\n»a\n»[unread]"),
        ];
        for (text, expected) in texts {
            assert_eq!(commands(text).replace(MARK, "»"), expected, "{text}");
        }
    }

    #[test]
    fn any_text_can_be_read() {
        for text in [
            "", "'", "\"", "\\", "`", "$(", ")", "((((", "<<", "<<<", "<<E", "|", "&", ">", "#",
            "\u{1}", "$'\\",
        ] {
            commands(text);
        }
        let deep = "(".repeat(100_000);
        assert!(commands(&deep).len() < 1_000_000);
    }

    #[test]
    fn unclosed_text_is_reported_as_unread() {
        for text in ["echo 'a", "echo \"a", "echo $(a", "(a", "echo `a", "cat <<E", "cat <<E\na"] {
            assert!(commands(text).ends_with(UNREAD), "{text}");
        }
        for text in [
            "echo 'a'",
            "(a)",
            "cat <<E\na\nE",
            "case $1 in\na) b;;\nesac",
            "echo $((1 << 2))",
            "f() { a; }",
        ] {
            assert!(!commands(text).contains(UNREAD), "{text}");
        }
        assert!(
            commands(&"sh -c 'a b'; ".repeat(100)).ends_with(UNREAD),
            "more scripts than the limit"
        );
        assert!(
            commands(&format!("bash -c '{}'", "a ".repeat(MAX_BYTES))).ends_with(UNREAD),
            "more bytes than the limit"
        );
    }
}
