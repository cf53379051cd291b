//! The counting methods, with the names used in model tables and on the command line.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

use super::bpe;
use super::estimate::{self, Ratio};
use crate::phrase;
use crate::phrase::Phrase;

/// A method of counting the tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// OpenAI's o200k_base, exactly.
    O200k,
    /// OpenAI's cl100k_base, exactly.
    Cl100k,
    /// Characters by a measured ratio; one token per CJK character.
    Estimate(Ratio),
    /// A quarter of the characters, one per CJK character: the unit of the retention figures.
    Chars4,
    /// AgentGraph: half of the characters.
    AgentGraph,
    /// Init/Execute: a quarter of the characters.
    InitExecute,
    /// CowAgent: 1.5 per non-ASCII character and 0.25 per ASCII character, plus one.
    Cow,
    /// Agent Service: characters divided by 2.5, plus four per message.
    AgentService,
    /// BeamAI: a quarter of the bytes, plus four per message.
    Beamai,
}

/// Tokens that are added to those of the texts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overhead {
    pub(super) message: usize,
    pub(super) call: usize,
    pub(super) result: usize,
    /// The tokens of an image, if the method defines them.
    pub(super) image: Option<usize>,
}

impl Method {
    const NAMED: [(&'static str, Self); 9] = [
        ("o200k", Self::O200k),
        ("cl100k", Self::Cl100k),
        ("estimate", Self::Estimate(Ratio::DEFAULT)),
        ("chars/4", Self::Chars4),
        ("agentgraph", Self::AgentGraph),
        ("init-execute", Self::InitExecute),
        ("cow", Self::Cow),
        ("agent-service", Self::AgentService),
        ("beamai", Self::Beamai),
    ];

    /// Returns the names of all methods.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMED.iter().map(|(name, _)| *name)
    }

    /// Returns whether the count is exact and not an estimate.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        matches!(self, Self::O200k | Self::Cl100k)
    }

    pub(super) fn text(self, text: &str) -> usize {
        let chars = || text.chars().count();
        match self {
            Self::O200k => bpe::O200K.count(text),
            Self::Cl100k => bpe::CL100K.count(text),
            Self::Estimate(ratio) => ratio.tokens(text),
            Self::Chars4 => estimate::quarter(text),
            Self::AgentGraph => chars().div_ceil(2),
            Self::InitExecute => chars().div_ceil(4),
            Self::Cow => estimate::cow(text),
            Self::AgentService => (chars() * 2).div_ceil(5),
            Self::Beamai => text.len().div_ceil(4),
        }
    }

    pub(super) const fn overhead(self) -> Overhead {
        match self {
            Self::O200k | Self::Cl100k | Self::Estimate(_) => {
                Overhead { message: 4, call: 8, result: 4, image: None }
            }
            Self::Chars4 | Self::AgentGraph | Self::InitExecute => {
                Overhead { message: 0, call: 0, result: 0, image: None }
            }
            Self::Cow => Overhead { message: 0, call: 50, result: 30, image: Some(1200) },
            Self::AgentService | Self::Beamai => {
                Overhead { message: 4, call: 0, result: 0, image: None }
            }
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Estimate(ratio) = self {
            return write!(f, "estimate, {} characters per token", ratio.chars_per_token());
        }
        let name =
            Self::NAMED.iter().find(|(_, method)| method == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|_| {
            let known = format!("one of {}", list());
            D::Error::invalid_value(Unexpected::Str(&name), &known.as_str())
        })
    }
}

impl FromStr for Method {
    type Err = Phrase;

    fn from_str(name: &str) -> Result<Self, Phrase> {
        let known = Self::NAMED.iter().find(|(known, _)| *known == name);
        known.map(|(_, method)| *method).ok_or_else(|| {
            phrase!(
                "unknown-token-method",
                "unknown token counting method {name:?}; known methods: {known}",
                name = name,
                known = list()
            )
        })
    }
}

fn list() -> String {
    Method::names().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimators of the five seeds, under their names (spec: tokens).
    #[test]
    fn seed_estimators_count_as_documented() {
        let count = |name: &str, text: &str| name.parse::<Method>().unwrap().text(text);
        assert_eq!(count("agentgraph", "abcdefgh"), 4);
        assert_eq!(count("init-execute", "abcdefgh"), 2);
        assert_eq!(count("cow", "abcd数据"), 5); // 4 × 0.25 + 2 × 1.5 + 1
        assert_eq!(count("agent-service", "abcdefghij"), 4);
        assert_eq!(count("beamai", "数据库abc"), 3); // 12 bytes
        assert_eq!(count("chars/4", "abcd数据"), 3);
    }

    #[test]
    fn exact_counts_are_those_of_the_public_vocabularies() {
        assert_eq!(Method::O200k.text("hello world"), 2);
        assert_eq!(Method::Cl100k.text("tiktoken is great!"), 6);
        assert_eq!(Method::O200k.text(""), 0);
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "tiktoken".parse::<Method>().unwrap_err().to_string();
        assert!(error.contains("o200k") && error.contains("beamai"), "{error}");
    }
}
