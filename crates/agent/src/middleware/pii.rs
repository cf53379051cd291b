//! `pii`: what tells who somebody is does not reach the model: e-mail addresses, card numbers, IP addresses, and what else is
//! named. It is changed in what the user says and in what tools find, before it is stored.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;

use super::{Hooked, Middleware, Moment, Verdict};
use crate::config::AgentConfig;
use crate::error::AgentError;

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
#[serde(deny_unknown_fields, default)]
pub(super) struct Pii {
    strategy: Strategy,
    /// Expressions of the user's own, by name.
    patterns: BTreeMap<String, String>,
}

static KNOWN: LazyLock<Vec<(String, Regex)>> = LazyLock::new(|| {
    let known = [
        ("email", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"),
        ("card", r"\b(?:\d[ -]?){12,18}\d\b"),
        ("ip", r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b"),
        ("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
    ];
    known.into_iter().filter_map(|(name, text)| Some((name.to_owned(), Regex::new(text).ok()?))).collect()
});

impl Pii {
    /// The text without what is private, and whether there was any.
    fn clean(&self, text: &str) -> Result<(String, bool), String> {
        let own: Result<Vec<_>, _> =
            self.patterns.iter().map(|(name, text)| Ok((name.clone(), Regex::new(text)?))).collect();
        let own = own.map_err(|error: regex::Error| error.to_string())?;
        let mut cleaned = text.to_owned();
        let mut found = false;
        for (name, pattern) in KNOWN.iter().chain(&own) {
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
        Ok((cleaned, found))
    }

    fn stand_in(&self, name: &str, whole: &str) -> String {
        let name = name.to_uppercase();
        match self.strategy {
            Strategy::Redact | Strategy::Block => format!("[{name}]"),
            Strategy::Mask => {
                let end: String = whole.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
                format!("****{end}")
            }
            Strategy::Hash => {
                let digits: String = blake3::hash(whole.as_bytes()).to_hex().chars().take(8).collect();
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

    /// A pattern that is none is refused at once: later it would let everything through.
    fn equip(&self, _: &mut AgentConfig) -> Result<(), AgentError> {
        self.clean("").map(drop).map_err(|why| AgentError::Setting(format!("pii: {why}")))
    }

    fn before_agent(&self, moment: &mut Moment<'_>) -> Hooked {
        let mut any = false;
        for text in std::iter::once(&mut *moment.said).chain(moment.attached.iter_mut()) {
            let (cleaned, found) = self.clean(text)?;
            *text = cleaned;
            any |= found;
        }
        if any && self.strategy == Strategy::Block {
            return Ok(Verdict::Halt(
                "what was said holds something private, and the middleware pii blocks that".to_owned(),
            ));
        }
        Ok(Verdict::Ok)
    }

    fn after_tools(&self, moment: &mut Moment<'_>) -> Hooked {
        for finished in moment.finished.iter_mut() {
            let (cleaned, found) = self.clean(&finished.text)?;
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
        let (text, found) =
            pii.clean("ann@example.org pays with 4111 1111 1111 1111 from 10.0.0.1, order 1234567890123").unwrap();
        assert_eq!(text, "[EMAIL] pays with [CARD] from [IP], order 1234567890123");
        assert!(found);
        assert!(!pii.clean("version 1.2.3, at 12:30").unwrap().1);
        let mask = Pii { strategy: Strategy::Mask, ..Pii::default() };
        assert_eq!(mask.clean("4111-1111-1111-1111").unwrap().0, "****1111");
        let own = Pii { patterns: BTreeMap::from([("badge".to_owned(), r"B-\d+".to_owned())]), ..Pii::default() };
        assert_eq!(own.clean("badge B-77").unwrap().0, "badge [BADGE]");
    }
}
