//! Where commands begin in a shell text, and their words without quotes. A word in a quoted text or
//! in a file's name is then not mistaken for a command, and a command is seen however it is
//! spelled, which is what patterns of risk need.
//!
//! What it promises: it reads any text in linear time, and says so when it could not read all of
//! it. It expands no variables and it is not the wall: the kernel's sandbox is (decision 0022 says
//! why this is not a full parser).

use std::str::Chars;

/// Stands before each word that is run.
pub(super) const MARK: char = '\u{1}';

/// So many texts are read: a script may hold others.
const SCRIPTS: usize = 50;

/// So many bytes are read in all of them.
const BYTES: usize = 500_000;

/// What stands for a text that was not read, or whose quotes, brackets or here-documents have no
/// end.
pub(super) const UNREAD: &str = "\u{1}[unread]";

/// Words that are run and have the next word run too, with the letters of their flags that take a
/// value.
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

/// Arguments behind which a command begins.
const OPENERS: &[&str] = &["{", "-exec", "-execdir", "-ok", "-okdir"];

/// Commands that run a file, which may have been written by the same text.
const FILE_RUNNERS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "eval", "source", ".", "chmod"];

/// The commands of a text: those that are piped into each other on a line, one space between words,
/// [`MARK`] before each word that is run, which stands without its directory. What is run first
/// stands first.
///
/// What could not be read to its end has [`UNREAD`] behind it.
pub(super) fn commands(text: &str) -> String {
    let mut lines = Vec::new();
    let mut scripts = vec![text.to_owned()];
    let mut is_unread = false;
    let mut room = BYTES;
    for _ in 0..SCRIPTS {
        let Some(script) = scripts.pop_if(|script| script.len() <= room) else { break };
        room -= script.len();
        let read = Reader::read(&script);
        lines.extend(read.lines);
        scripts.extend(read.scripts);
        is_unread |= read.has_no_end;
        if read.unclosed {
            // Perhaps it was an apostrophe and not a quote: it hides nothing.
            scripts.push(script.replace(['"', '\''], ""));
        }
    }
    if is_unread || !scripts.is_empty() {
        lines.push(UNREAD.to_owned());
    }
    lines.join("\n")
}

/// What is read of one command, or of the commands in its brackets.
struct Level {
    /// What ends it.
    closes: Option<char>,
    line: String,
    word: Option<String>,
    /// Inside of double quotes.
    quoted: bool,
    /// Inside of `((`, where `<<` shifts a number.
    calculates: bool,
    /// The next word is run.
    begins: bool,
    /// The next word is only the value of the one before it.
    skips: bool,
    /// Behind a runner: its flags that take a value.
    takes: Option<&'static str>,
}

impl Level {
    const fn new(closes: Option<char>) -> Self {
        Self {
            closes,
            line: String::new(),
            word: None,
            quoted: false,
            calculates: false,
            begins: true,
            skips: false,
            takes: None,
        }
    }

    /// The word that is being read.
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

    /// Whether the word that is being read says where a command's input or output goes.
    fn redirects(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.ends_with(['<', '>']))
    }

    /// Whether a word is run. Notes what the next one is.
    fn is_run(&mut self, word: &str) -> bool {
        if !self.begins {
            self.begins = OPENERS.contains(&word);
            return false;
        }
        if std::mem::take(&mut self.skips) || is_assignment(word) {
            return false;
        }
        let file = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if file.starts_with(['<', '>']) {
            self.skips = file.trim_start_matches(['<', '>', '&', '|']).is_empty();
            return false;
        }
        let Some(takes) = self.takes else { return true };
        if let Some(letters) = word.strip_prefix('-') {
            let plain = letters.chars().all(|c| c.is_ascii_alphanumeric());
            self.skips =
                plain && letters.chars().next_back().is_some_and(|last| takes.contains(last));
            return false;
        }
        // A time, a count.
        !word.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// A text that follows behind the line that asks for it (`<<END`).
struct Here {
    /// The line that ends it.
    end: String,
    /// Commands in it are run wherever it goes.
    expands: bool,
}

struct Reader<'a> {
    rest: Chars<'a>,
    level: Level,
    outer: Vec<Level>,
    lines: Vec<String>,
    /// Texts that are scripts themselves.
    scripts: Vec<String>,
    awaited: Vec<Here>,
    /// Texts that become files or input.
    bodies: Vec<String>,
    /// One of them had no end: the others are read as commands.
    endless: bool,
    /// A quote was not closed.
    unclosed: bool,
    /// A quote, a bracket or a here-document was not closed.
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

    /// A word is over.
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
        self.level.takes = runner.map(|(_, takes)| *takes);
        self.level.begins = runner.is_some();
        self.level.write(&format!("{MARK}{name}"));
        if is_script {
            self.scripts.push(word);
        }
    }

    /// A command is over, with all that it was piped into.
    fn end_line(&mut self) {
        self.end_word();
        let Level { closes, quoted, calculates, .. } = self.level;
        let next = Level { quoted, calculates, ..Level::new(closes) };
        let line = std::mem::replace(&mut self.level, next).line;
        if !line.is_empty() {
            self.lines.push(line);
        }
    }

    /// The output of a command goes into the next one.
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
        self.level.begins = true;
        self.level.skips = false;
        self.level.takes = None;
    }

    /// Commands inside of a word, or in brackets. They are run before what they stand in.
    fn open(&mut self, closes: char) {
        self.level.word().push_str("$()");
        let calculates =
            closes == ')' && (self.level.calculates || self.rest.as_str().starts_with('('));
        let inner = Level { calculates, ..Level::new(Some(closes)) };
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

    /// Single quotes; with escapes where a `$` stands before them.
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
        if self.level.calculates {
            self.level.push(c);
        } else if c == '<'
            && let Some(rest) = text.strip_prefix("<<")
        {
            // A word that is read like a file: it stands where a script would.
            self.end_word();
            self.rest = rest.chars();
        } else if c == '<'
            && !self.endless
            && let Some(rest) = text.strip_prefix('<')
        {
            self.end_word();
            self.await_body(rest);
        } else {
            // It is short, so that a long word is not looked through for each sign.
            let number = |word: &String| {
                word.len() < 12 && word.chars().all(|c| c.is_ascii_digit() || "<>&".contains(c))
            };
            if !self.level.word.as_ref().is_some_and(number) {
                self.end_word();
            }
            self.level.push(c);
        }
    }

    /// A text follows behind this line, up to a line that is named here.
    fn await_body(&mut self, text: &'a str) {
        let text = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
        let ends = |c: char| c.is_whitespace() || ";|&<>()".contains(c);
        let (word, rest) =
            text.find(ends).and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
        let end: String = word.chars().filter(|c| !"\"'\\".contains(*c)).collect();
        self.rest = rest.chars();
        if !end.is_empty() {
            self.awaited.push(Here { expands: end == word, end });
        }
    }

    /// Texts are no commands, unless something runs them.
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

/// A text up to the line that ends it, and what follows; none where no line does.
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

/// `NAME=value` before a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        fits && name.starts_with(|c: char| !c.is_ascii_digit())
    })
}

/// A program without the directory it is in.
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
    fn commands_are_found_where_they_begin() {
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
    fn quotes_hide_no_command_and_make_none() {
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
    fn a_text_that_follows_is_no_script_unless_something_runs_it() {
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
    fn what_has_no_end_is_said_to_be_unread() {
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
            "more scripts than are read"
        );
        assert!(
            commands(&format!("bash -c '{}'", "a ".repeat(BYTES))).ends_with(UNREAD),
            "a longer one"
        );
    }
}
