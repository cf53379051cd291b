//! The keys of a policy with the values they accept. The same table rejects invalid values and
//! documents the valid ones.

use std::fmt;

use super::error::PolicyError;
use super::size::Size;
use super::threshold::Threshold;
use crate::phrase;
use crate::phrase::Phrase;

/// The values that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum Allowed {
    /// A whole number between two limits.
    Whole(i64, i64),
    /// A number of tokens, or a share such as `"65%"`.
    Size,
    /// A size, or `"high"` for the high mark.
    Threshold,
    /// `true` or `false`.
    Flag,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// Any string.
    Text,
    /// A list of strings.
    Texts,
    /// A list of message indices.
    Indices,
}

impl Allowed {
    fn accepts(&self, value: &toml::Value) -> bool {
        match (self, value) {
            (Self::Whole(least, most), toml::Value::Integer(number)) => {
                (*least..=*most).contains(number)
            }
            (Self::Size, value) => Size::parse(value).is_some(),
            (Self::Threshold, value) => Threshold::parse(value).is_some(),
            (Self::Flag, toml::Value::Boolean(_)) | (Self::Text, toml::Value::String(_)) => true,
            (Self::OneOf(names), toml::Value::String(name)) => names.contains(&name.as_str()),
            (Self::Texts, toml::Value::Array(list)) => list.iter().all(toml::Value::is_str),
            (Self::Indices, toml::Value::Array(list)) => {
                list.iter().all(|item| item.as_integer().is_some_and(|number| number >= 1))
            }
            _ => false,
        }
    }
}

impl Allowed {
    /// Describes the values.
    #[must_use]
    pub fn phrase(&self) -> Phrase {
        match self {
            Self::Whole(least, i64::MAX) => phrase!(
                "allowed-whole-from",
                "a whole number from {least}",
                least = least.to_string()
            ),
            Self::Whole(least, most) => phrase!(
                "allowed-whole",
                "a whole number from {least} to {most}",
                least = least.to_string(),
                most = most.to_string()
            ),
            Self::Size => {
                phrase!("allowed-size", "a number of tokens, or a share from \"0%\" to \"100%\"")
            }
            Self::Threshold => phrase!(
                "allowed-threshold",
                "a number of tokens, a share from \"0%\" to \"100%\", or \"high\" for the high \
                 mark"
            ),
            Self::Flag => phrase!("allowed-flag", "true or false"),
            Self::OneOf(names) => {
                phrase!("allowed-one-of", "one of {names}", names = names.join(", "))
            }
            Self::Text => phrase!("allowed-text", "a string"),
            Self::Texts => phrase!("allowed-texts", "a list of strings"),
            Self::Indices => {
                phrase!("allowed-message-numbers", "a list of message numbers, from 1")
            }
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.phrase().fmt(f)
    }
}

/// A key of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name inside its section.
    pub name: &'static str,
    /// The values it accepts.
    pub allowed: Allowed,
    /// What it does, for people.
    pub about: &'static str,
}

impl Key {
    /// Creates a key.
    #[must_use]
    pub const fn new(name: &'static str, allowed: Allowed, about: &'static str) -> Self {
        Self { name, allowed, about }
    }
}

/// Rejects unknown keys and invalid values.
pub(crate) fn check(section: &str, keys: &[Key], table: &toml::Table) -> Result<(), PolicyError> {
    for (name, value) in table {
        let key =
            keys.iter().find(|key| key.name == name).ok_or_else(|| PolicyError::UnknownKey {
                key: format!("{section}.{name}"),
                known: keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", "),
            })?;
        if !key.allowed.accepts(value) {
            return Err(PolicyError::BadValue {
                key: format!("{section}.{name}"),
                value: value.to_string(),
                allowed: key.allowed.phrase(),
            });
        }
    }
    Ok(())
}
