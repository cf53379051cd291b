//! `pii`: removes personal data such as e-mail addresses, card numbers, IP addresses, IBANs and
//! configured patterns from user input and tool results, before they are stored.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};
use crate::reason::EndReason;

/// What to do with personal data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Strategy {
    /// Replace it with its kind, such as `[EMAIL]`.
    #[default]
    Redact,
    /// Keep only the last four characters.
    Mask,
    /// Replace it with a hash, so that equal values stay equal.
    Hash,
    /// End the turn.
    Block,
}

#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Options")]
pub(crate) struct Pii {
    strategy: Strategy,
    /// Additional patterns from the configuration, by name.
    patterns: Vec<(String, Regex)>,
}

/// The options as written in the configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    strategy: Strategy,
    patterns: BTreeMap<String, String>,
}

impl TryFrom<Options> for Pii {
    type Error = regex::Error;

    /// Rejects an invalid pattern at once; ignoring it would let everything through.
    fn try_from(options: Options) -> Result<Self, regex::Error> {
        let patterns =
            options.patterns.into_iter().map(|(name, text)| Ok((name, Regex::new(&text)?)));
        Ok(Self { strategy: options.strategy, patterns: patterns.collect::<Result<_, _>>()? })
    }
}

static KNOWN: LazyLock<Vec<(String, Regex)>> = LazyLock::new(|| {
    let known = [
        ("email", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"),
        ("card", r"\b(?:\d[ -]?){12,18}\d\b"),
        ("ip", r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b"),
        ("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
    ];
    known
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), Regex::new(text).ok()?)))
        .collect()
});

impl Pii {
    /// Returns the text without personal data, and whether there was any.
    fn clean(&self, text: &str) -> (String, bool) {
        let mut cleaned = text.to_owned();
        let mut found = false;
        for (name, pattern) in KNOWN.iter().chain(&self.patterns) {
            let replaced = pattern.replace_all(&cleaned, |captures: &Captures<'_>| {
                let whole = captures.get(0).map_or("", |whole| whole.as_str());
                if name == "card" && !is_card(whole) {
                    return whole.to_owned();
                }
                found = true;
                self.replacement(name, whole)
            });
            cleaned = replaced.into_owned();
        }
        (cleaned, found)
    }

    fn replacement(&self, name: &str, whole: &str) -> String {
        let name = name.to_uppercase();
        match self.strategy {
            Strategy::Redact | Strategy::Block => format!("[{name}]"),
            Strategy::Mask => {
                let end: String =
                    whole.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
                format!("****{end}")
            }
            Strategy::Hash => {
                let digits: String =
                    blake3::hash(whole.as_bytes()).to_hex().chars().take(8).collect();
                format!("[{name}:{digits}]")
            }
        }
    }
}

/// Returns whether the digits are a card number, by the Luhn check digit.
fn is_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, &digit)| match (at % 2, digit * 2) {
            (0, _) => digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    sum.is_multiple_of(10)
}

impl Middleware for Pii {
    fn name(&self) -> &'static str {
        "pii"
    }

    fn before_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        let mut any = false;
        for text in std::iter::once(&mut *context.input).chain(context.attached.iter_mut()) {
            let (cleaned, found) = self.clean(text);
            *text = cleaned;
            any |= found;
        }
        if any && self.strategy == Strategy::Block {
            return Ok(Verdict::Halt(EndReason::PersonalData));
        }
        Ok(Verdict::Ok)
    }

    fn after_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        for finished in context.finished.iter_mut() {
            let (cleaned, found) = self.clean(&finished.text);
            if found && self.strategy == Strategy::Block {
                finished.text = "[result omitted: it contains personal data]".to_owned();
                finished.failed = true;
            } else {
                finished.text = cleaned;
            }
        }
        Ok(Verdict::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personal_data_is_replaced_and_other_text_is_kept() {
        let pii = Pii::default();
        let (text, found) = pii.clean(
            "ann@example.org pays with 4111 1111 1111 1111 from 10.0.0.1, order 1234567890123",
        );
        assert_eq!(text, "[EMAIL] pays with [CARD] from [IP], order 1234567890123");
        assert!(found);
        assert!(!pii.clean("version 1.2.3, at 12:30").1);
        let mask = Pii { strategy: Strategy::Mask, ..Pii::default() };
        assert_eq!(mask.clean("4111-1111-1111-1111").0, "****1111");
        let own = Pii {
            patterns: vec![("badge".to_owned(), Regex::new(r"B-\d+").unwrap())],
            ..Pii::default()
        };
        assert_eq!(own.clean("badge B-77").0, "badge [BADGE]");
    }
}
