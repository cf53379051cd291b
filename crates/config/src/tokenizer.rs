//! How tokens are counted, as settings name it.

use std::str::FromStr;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};
use waterline::model::{Model, Models as Catalog};
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::tokens::Method;

/// How the tokens of a model are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// By a method of the engine: `o200k`, `cl100k`, `estimate`.
    Method(Method),
    /// `tiktoken`: with the exact vocabulary of the model.
    Tiktoken,
}

impl Tokenizer {
    /// Returns the method for a model with this name.
    #[must_use]
    pub fn method(self, model: &str) -> Method {
        self.of(&Catalog::builtin().resolve(model))
    }

    /// Returns the method for a model. A model whose vocabulary is not public is counted with the
    /// newest public one.
    pub(crate) const fn of(self, model: &Model) -> Method {
        match self {
            Self::Method(method) => method,
            Self::Tiktoken if model.tokenizer.is_exact() => model.tokenizer,
            Self::Tiktoken => Method::O200k,
        }
    }
}

impl FromStr for Tokenizer {
    type Err = Phrase;

    fn from_str(name: &str) -> Result<Self, Phrase> {
        match name {
            "tiktoken" => Ok(Self::Tiktoken),
            name => name.parse().map(Self::Method).map_err(|_| {
                phrase!(
                    "variable-tokenizer",
                    "unknown token counting method {name:?}; known methods: {known}, tiktoken",
                    name = name,
                    known = methods()
                )
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Tokenizer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|_| {
            let known = format!("one of {}, tiktoken", methods());
            D::Error::invalid_value(Unexpected::Str(&name), &known.as_str())
        })
    }
}

fn methods() -> String {
    Method::names().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3.30: `estimate` or `tiktoken`.
    #[test]
    fn s3_30_tiktoken_is_the_vocabulary_of_the_model() {
        let method = |name: &str, model: &str| name.parse::<Tokenizer>().unwrap().method(model);
        assert_eq!(method("tiktoken", "gpt-4o"), Method::O200k);
        assert_eq!(method("tiktoken", "gpt-4"), Method::Cl100k);
        assert_eq!(method("tiktoken", "claude-sonnet-5"), Method::O200k);
        assert!(matches!(method("estimate", "gpt-4o"), Method::Estimate(_)));
        let error = "words".parse::<Tokenizer>().unwrap_err().to_string();
        assert!(error.contains("estimate") && error.contains("tiktoken"), "{error}");
    }
}
