//! `pii`: what tells who somebody is does not reach the model: e-mail addresses, card numbers, IP
//! addresses, and what else is named. It is changed in what the user says and in what tools find,
//! before it is stored.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;

use super::{HookContext, Hooked, Middleware, Verdict};

/// What is done with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Strategy {
    /// `[EMAIL]` stands for it.
    #[default]
    Redact,
    /// Only its end is left.
    Mask,
    /// The same thing always becomes the same word.
    Hash,
    /// The turn ends.
    Block,
}

/// Finds what is private.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "Options")]
pub(crate) struct Pii {
    strategy: Strategy,
    /// Expressions of the user's own, by name.
    patterns: Vec<(String, Regex)>,
}

/// Its options, as a config has them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    strategy: Strategy,
    patterns: BTreeMap<String, String>,
}

impl TryFrom<Options> for Pii {
    type Error = regex::Error;

    /// A pattern that is not an expression is refused at once: later it would let everything
    /// through.
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
    /// The text without what is private, and whether there was any.
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
                self.stand_in(name, whole)
            });
            cleaned = replaced.into_owned();
        }
        (cleaned, found)
    }

    fn stand_in(&self, name: &str, whole: &str) -> String {
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

/// Whether digits are those of a card: their check digit fits.
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
        for text in std::iter::once(&mut *context.said).chain(context.attached.iter_mut()) {
            let (cleaned, found) = self.clean(text);
            *text = cleaned;
            any |= found;
        }
        if any && self.strategy == Strategy::Block {
            return Ok(Verdict::Halt(
                "what was said holds something private, and the middleware pii blocks that"
                    .to_owned(),
            ));
        }
        Ok(Verdict::Ok)
    }

    fn after_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        for finished in context.finished.iter_mut() {
            let (cleaned, found) = self.clean(&finished.text);
            if found && self.strategy == Strategy::Block {
                finished.text = "[left out: it holds something private]".to_owned();
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
    fn what_is_private_is_found_and_what_is_not_is_left() {
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
