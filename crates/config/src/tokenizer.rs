//! How tokens are counted, as settings name it.

use std::str::FromStr;

use serde::Deserialize;
use waterline::Models as Catalogue;
use waterline::tokens::Method;

/// How the tokens of a model are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Tokenizer {
    /// By a method of the engine: `o200k`, `cl100k`, `estimate`.
    Method(Method),
    /// `tiktoken`: with the exact vocabulary of the model.
    Tiktoken,
}

impl Tokenizer {
    /// Returns the method for a model. A model whose vocabulary is not public is counted with the
    /// newest public one.
    pub(crate) fn method(self, model: &str) -> Method {
        match self {
            Self::Method(method) => method,
            Self::Tiktoken => {
                let known = Catalogue::builtin().resolve(model).tokenizer;
                if known.is_exact() { known } else { Method::O200k }
            }
        }
    }
}

impl FromStr for Tokenizer {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "tiktoken" => Ok(Self::Tiktoken),
            name => {
                name.parse().map(Self::Method).map_err(|why: String| format!("{why}, tiktoken"))
            }
        }
    }
}

impl TryFrom<String> for Tokenizer {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
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
        let error = "words".parse::<Tokenizer>().unwrap_err();
        assert!(error.contains("estimate") && error.contains("tiktoken"), "{error}");
    }
}
