//! [`Level`]: the words of one nesting level, and which of them are run.

use super::MARK;

/// Commands and keywords that run the next word as a command, with the letters of their flags that
/// take a value.
pub(super) const RUNNERS: &[(&str, &str)] = &[
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

/// The state of one nesting level: the top level, or the commands inside brackets.
pub(super) struct Level {
    /// The character that closes the level.
    pub(super) closes: Option<char>,
    pub(super) line: String,
    pub(super) word: Option<String>,
    /// Inside double quotes.
    pub(super) quoted: bool,
    /// Inside `((`, where `<<` is a shift operator.
    pub(super) is_arithmetic: bool,
    /// Whether the next word may be run.
    pub(super) expects_command: bool,
    /// Whether the next word is the value of the previous one.
    pub(super) skips_next: bool,
    /// After a runner: the letters of its flags that take a value.
    pub(super) value_flags: Option<&'static str>,
}

impl Level {
    pub(super) const fn new(closes: Option<char>) -> Self {
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
    pub(super) fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    pub(super) fn push(&mut self, c: char) {
        if c != MARK {
            self.word().push(c);
        }
    }

    pub(super) fn write(&mut self, text: &str) {
        if !self.line.is_empty() {
            self.line.push(' ');
        }
        self.line.push_str(text);
    }

    /// Returns whether the word being read is a redirection.
    pub(super) fn redirects(&self) -> bool {
        self.word.as_ref().is_some_and(|word| word.ends_with(['<', '>']))
    }

    /// Returns whether a word is run, and updates what the next word can be.
    pub(super) fn is_run(&mut self, word: &str) -> bool {
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

/// Returns whether a word is `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name && name.starts_with(|c: char| !c.is_ascii_digit())
    })
}
