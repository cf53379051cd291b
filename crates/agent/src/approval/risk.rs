//! Risk patterns, read from `presets/risks.toml`.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

use super::call_request::CallRequest;
use super::script::{self, MARK};
use crate::reason::{Risk, RiskCause};
use crate::tool::Capability;

const SHIPPED: &str = include_str!("../../presets/risks.toml");

/// A pattern that indicates a risk in a call.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The risk of a call that matches.
    pub risk: Risk,
    /// The name of the risk.
    pub id: String,
    /// What such a call does, for people.
    pub about: String,
    target: Target,
    expression: Regex,
}

/// What a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Each text, as written and without quotes.
    Words,
    /// The commands of each text, as parsed by [`script::commands`].
    Commands,
    /// The path of a file tool.
    Path,
}

/// The texts of a call that patterns are matched against.
pub(super) struct Texts {
    words: Vec<String>,
    commands: Vec<String>,
    path: Option<String>,
}

impl Texts {
    pub(super) fn of(asked: CallRequest<'_>) -> Self {
        // Text that is only read or written is not run.
        let runs = matches!(asked.info.capability, Capability::Execute | Capability::Network);
        let commands =
            asked.leaves().iter().filter(|_| runs).map(|text| script::commands(text)).collect();
        Self { words: asked.texts(), commands, path: asked.path() }
    }

    /// Returns whether a text could not be parsed completely.
    pub(super) fn is_unread(&self) -> bool {
        self.commands.iter().any(|commands| commands.ends_with(script::UNREAD))
    }
}

impl Pattern {
    pub(super) fn cause(&self) -> RiskCause {
        RiskCause::Pattern { id: self.id.clone(), about: self.about.clone() }
    }

    pub(super) fn is_match(&self, texts: &Texts) -> bool {
        let is_match = |text: &String| self.expression.is_match(text);
        match self.target {
            Target::Words => texts.words.iter().chain(&texts.commands).any(is_match),
            Target::Commands => texts.commands.iter().any(is_match),
            Target::Path => texts.path.iter().any(is_match),
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
    id: String,
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
    /// Returns the pattern, or `None` if the entry has no target or more than one.
    fn pattern(&self) -> Option<Pattern> {
        let (target, expression) = match (&self.command, &self.words, &self.path) {
            (Some(command), None, None) => (Target::Commands, self.command_expression(command)),
            (None, Some(words), None) => (Target::Words, words.clone()),
            (None, None, Some(path)) => (Target::Path, path.clone()),
            _ => return None,
        };
        let expression = Regex::new(&expression).ok()?;
        Some(Pattern {
            risk: self.risk,
            id: self.id.clone(),
            about: self.about.clone(),
            target,
            expression,
        })
    }

    /// Returns the expression for a command and its context, for the output of
    /// [`script::commands`].
    fn command_expression(&self, command: &str) -> String {
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

/// Returns the shipped patterns: the general ones, and those for single tools.
pub(super) fn shipped() -> (Vec<Pattern>, BTreeMap<String, Vec<Pattern>>) {
    let mut any = Vec::new();
    let mut own = BTreeMap::<String, Vec<Pattern>>::new();
    // The table is compiled in and cannot fail to parse; a test checks it.
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
    fn the_shipped_table_is_valid() {
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
