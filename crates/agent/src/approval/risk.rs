//! Patterns of risk, as data: `presets/risks.toml`.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

use super::call_request::CallRequest;
use super::script::{self, MARK};
use crate::tool::Capability;

const SHIPPED: &str = include_str!("../../presets/risks.toml");

/// How much can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Nothing much.
    Low,
    /// Something that takes work to undo.
    Medium,
    /// Something that cannot be undone.
    High,
    /// Everything.
    Critical,
}

impl Risk {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// What tells of a risk in a call.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// How much of one.
    pub risk: Risk,
    /// What it is, for a person.
    pub about: String,
    against: Against,
    expression: Regex,
}

/// What a pattern is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// Each text, as it is and without its quotes.
    Words,
    /// Each text as a shell takes it apart.
    Commands,
    /// The path of a file tool.
    Path,
}

/// The texts of a call that patterns are held against.
pub(super) struct Texts {
    words: Vec<String>,
    commands: Vec<String>,
    path: Option<String>,
}

impl Texts {
    pub(super) fn of(asked: CallRequest<'_>) -> Self {
        // What a tool only reads or writes is not run.
        let runs = matches!(asked.info.capability, Capability::Execute | Capability::Network);
        let commands =
            asked.leaves().iter().filter(|_| runs).map(|text| script::commands(text)).collect();
        Self { words: asked.texts(), commands, path: asked.path() }
    }

    /// Whether there is more in the call than was looked at.
    pub(super) fn is_unread(&self) -> bool {
        self.commands.iter().any(|commands| commands.ends_with(script::UNREAD))
    }
}

impl Pattern {
    pub(super) fn is_match(&self, texts: &Texts) -> bool {
        let fits = |text: &String| self.expression.is_match(text);
        match self.against {
            Against::Words => texts.words.iter().chain(&texts.commands).any(fits),
            Against::Commands => texts.commands.iter().any(fits),
            Against::Path => texts.path.iter().any(fits),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    pattern: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    risk: Risk,
    about: String,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    with: Option<String>,
    #[serde(default)]
    then: Option<String>,
    #[serde(default)]
    piped: bool,
    #[serde(default)]
    words: Option<String>,
    #[serde(default)]
    path: Option<String>,
}

impl Entry {
    /// None where it cannot be used: it looks for nothing, or in two ways.
    fn pattern(&self) -> Option<Pattern> {
        let (against, expression) = match (&self.command, &self.words, &self.path) {
            (Some(command), None, None) => (Against::Commands, self.in_place(command)),
            (None, Some(words), None) => (Against::Words, words.clone()),
            (None, None, Some(path)) => (Against::Path, path.clone()),
            _ => return None,
        };
        let expression = Regex::new(&expression).ok()?;
        Some(Pattern { risk: self.risk, about: self.about.clone(), against, expression })
    }

    /// The expression for a command with what must stand around it, over the text of
    /// [`script::commands`].
    fn in_place(&self, command: &str) -> String {
        let before =
            if self.piped { format!(r"\| (?:{MARK}[^{MARK}\n]* )*") } else { String::new() };
        let after = match (&self.with, &self.then) {
            (Some(with), _) => format!(r" (?:[^{MARK}\n]* )?(?:{with})"),
            (None, Some(then)) => format!(r"(?: |$)(?s:.*){MARK}(?:{then})(?: |$)"),
            (None, None) => "(?: |$)".to_owned(),
        };
        format!("(?m){before}{MARK}(?:{command}){after}")
    }
}

/// The shipped patterns: those for any tool, and those for one.
pub(super) fn shipped() -> (Vec<Pattern>, BTreeMap<String, Vec<Pattern>>) {
    let (mut any, mut own) = (Vec::new(), BTreeMap::<String, Vec<Pattern>>::new());
    // The table is part of the program, and a test reads it.
    let table: Table = toml::from_str(SHIPPED).unwrap_or(Table { pattern: Vec::new() });
    for entry in table.pattern {
        let Some(pattern) = entry.pattern() else { continue };
        if entry.tools.is_empty() {
            any.push(pattern);
        } else {
            entry
                .tools
                .into_iter()
                .for_each(|tool| own.entry(tool).or_default().push(pattern.clone()));
        }
    }
    (any, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_table_can_be_read() {
        let table: Table = toml::from_str(SHIPPED).unwrap();
        for entry in &table.pattern {
            assert!(entry.pattern().is_some(), "{}", entry.about);
            let more = [entry.with.is_some(), entry.then.is_some(), entry.piped]
                .iter()
                .filter(|set| **set)
                .count();
            assert!(more <= usize::from(entry.command.is_some()), "{}", entry.about);
            assert_eq!(entry.path.is_some(), !entry.tools.is_empty(), "{}", entry.about);
        }
        let (any, own) = shipped();
        assert!(any.len() > 10 && own.contains_key("write_file") && own.contains_key("edit_file"));
    }
}
