//! Risk patterns, read from `presets/risks.toml`.

use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde::Deserialize;

use super::call_request::CallRequest;
use super::script::{self, MARK};
use crate::reason::{Risk, RiskCause};
use crate::tool::Capability;

const BUILT_IN: &str = include_str!("../../presets/risks.toml");

/// A pattern that indicates a risk in a call.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The risk of a call that matches.
    pub risk: Risk,
    /// The name of the risk.
    pub id: String,
    /// What such a call does, for people.
    pub about: String,
    /// The kind of access that the tool of such a call has. Without one, the pattern is about calls
    /// that run something or use the network: it means nothing in files that are read or written.
    capability: Option<Capability>,
    target: Target,
    expression: Arc<Expression>,
}

/// A regular expression that is compiled when it is first used. All of them together take half a
/// megabyte, and many sessions run no command.
#[derive(Debug)]
struct Expression {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Expression {
    const fn new(source: String) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    fn compiled(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }

    /// Returns whether a text matches. If the expression were invalid, every text would, so that
    /// approval is asked for.
    fn is_match(&self, text: &str) -> bool {
        self.compiled().is_none_or(|expression| expression.is_match(text))
    }
}

/// What a pattern is matched against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Each text, as written and without quotes.
    Texts,
    /// The commands of each text, as parsed by [`script::commands`].
    Commands,
    /// The path of a file tool.
    Path,
}

/// The texts of a call that patterns are matched against.
pub(super) struct Texts {
    texts: Vec<String>,
    commands: Vec<String>,
    path: Option<String>,
}

impl Texts {
    pub(super) fn of(asked: CallRequest<'_>) -> Self {
        // Text that is only read or written is not run.
        let runs = matches!(asked.info.capability, Capability::Execute | Capability::Network);
        let commands =
            asked.leaves().iter().filter(|_| runs).map(|text| script::commands(text)).collect();
        Self { texts: asked.texts(), commands, path: asked.path() }
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

    /// Returns whether the pattern is about calls of tools with this kind of access.
    pub(super) fn is_about(&self, capability: Capability) -> bool {
        match self.capability {
            Some(own) => own == capability,
            None => matches!(capability, Capability::Execute | Capability::Network),
        }
    }

    pub(super) fn is_match(&self, texts: &Texts) -> bool {
        let is_match = |text: &String| self.expression.is_match(text);
        match self.target {
            Target::Texts => texts.texts.iter().chain(&texts.commands).any(is_match),
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
    capability: Option<Capability>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    with: Option<String>,
    #[serde(default)]
    then: Option<String>,
    #[serde(default)]
    piped: bool,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    path: Option<String>,
}

impl Entry {
    /// Returns the pattern, or `None` if the entry has no target or more than one.
    fn pattern(&self) -> Option<Pattern> {
        let (target, expression) = match (&self.command, &self.text, &self.path) {
            (Some(command), None, None) => (Target::Commands, self.command_expression(command)),
            (None, Some(text), None) => (Target::Texts, text.clone()),
            (None, None, Some(path)) => (Target::Path, path.clone()),
            _ => return None,
        };
        let expression = Arc::new(Expression::new(expression));
        Some(Pattern {
            risk: self.risk,
            id: self.id.clone(),
            about: self.about.clone(),
            capability: self.capability,
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

/// Returns the built-in patterns.
pub(super) fn built_in() -> Vec<Pattern> {
    // The table is compiled in and cannot fail to parse; a test checks it.
    let table: Table = toml::from_str(BUILT_IN).unwrap_or(Table { pattern: Vec::new() });
    table.pattern.iter().filter_map(Entry::pattern).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_is_valid() {
        let table: Table = toml::from_str(BUILT_IN).unwrap();
        for entry in &table.pattern {
            let pattern = entry.pattern();
            let expression = pattern.as_ref().and_then(|pattern| pattern.expression.compiled());
            assert!(expression.is_some(), "{}", entry.about);
            let more = [entry.with.is_some(), entry.then.is_some(), entry.piped]
                .iter()
                .filter(|set| **set)
                .count();
            assert!(more <= usize::from(entry.command.is_some()), "{}", entry.about);
            assert_eq!(entry.path.is_some(), entry.capability.is_some(), "{}", entry.about);
        }
        let of = |capability| built_in().iter().filter(|own| own.is_about(capability)).count();
        assert!(of(Capability::Execute) > 10 && of(Capability::Write) == 1);
    }
}
