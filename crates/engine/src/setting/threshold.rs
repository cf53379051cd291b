//! The size above which a stage acts.

use serde::de::{Deserialize, Deserializer, Error};

use super::size::Size;

/// The size above which a stage acts: a mark of its own, or the high mark of the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A mark of its own.
    Size(Size),
    /// The high mark. In a fold that started above it, the mark is low enough for the fold to free
    /// its share (`fold.free`).
    High,
}

impl Default for Threshold {
    /// A stage acts in every fold unless its settings say otherwise.
    fn default() -> Self {
        Self::Size(Size::Tokens(0))
    }
}

impl Threshold {
    /// Parses `50000`, `"65%"` or `"high"`.
    #[must_use]
    pub fn parse(value: &toml::Value) -> Option<Self> {
        match value.as_str() {
            Some("high") => Some(Self::High),
            _ => Size::parse(value).map(Self::Size),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        Self::parse(&value).ok_or_else(|| {
            D::Error::custom("expected a number of tokens, a share such as \"65%\", or \"high\"")
        })
    }
}
