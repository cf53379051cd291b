//! Patterns of risk, as data: `presets/risks.toml`.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

const SHIPPED: &str = include_str!("../../../../presets/risks.toml");

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

/// Words in a call that tell of a risk.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// How much of one.
    pub risk: Risk,
    /// What it is, for a person.
    pub about: String,
    expression: Regex,
}

impl Pattern {
    pub(super) fn is_match(&self, arguments: &str) -> bool {
        self.expression.is_match(arguments)
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
    expression: String,
    #[serde(default)]
    tool: Option<String>,
}

/// The shipped patterns: those for any tool, and those for one.
pub(super) fn shipped() -> (Vec<Pattern>, BTreeMap<String, Vec<Pattern>>) {
    let (mut any, mut own) = (Vec::new(), BTreeMap::<String, Vec<Pattern>>::new());
    // The table is part of the program, and a test reads it.
    let table: Table = toml::from_str(SHIPPED).unwrap_or(Table { pattern: Vec::new() });
    for entry in table.pattern {
        let Ok(expression) = Regex::new(&entry.expression) else { continue };
        let pattern = Pattern { risk: entry.risk, about: entry.about, expression };
        match entry.tool {
            Some(tool) => own.entry(tool).or_default().push(pattern),
            None => any.push(pattern),
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
            Regex::new(&entry.expression).unwrap();
        }
        let (any, own) = shipped();
        assert_eq!(any.len() + own.values().map(Vec::len).sum::<usize>(), table.pattern.len());
        assert!(any.len() > 10 && own.contains_key("write_file"));
    }
}
