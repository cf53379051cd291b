//! The errors of policy files.

use thiserror::Error;

use crate::phrase::Phrase;

/// Why a policy cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The text is not valid TOML or not a policy.
    #[error("invalid policy: {0}")]
    Syntax(String),
    /// No preset has this name.
    #[error("unknown preset {name:?}; known presets: {known} (or pass a TOML file)")]
    UnknownPreset {
        /// The name that was given.
        name: String,
        /// The presets that exist, as a list.
        known: String,
    },
    /// No stage has this name.
    #[error("unknown stage {name:?}; known stages: {known}")]
    UnknownStage {
        /// The name that was given.
        name: String,
        /// The stages that exist, as a list.
        known: String,
    },
    /// No key has this name.
    #[error("unknown key {key}; known keys: {known}")]
    UnknownKey {
        /// The key, with its section.
        key: String,
        /// The known keys of that section.
        known: String,
    },
    /// A key that every policy must set is missing.
    #[error("missing key {key}; expected {allowed}")]
    MissingKey {
        /// The key.
        key: String,
        /// The values that the key accepts.
        allowed: Phrase,
    },
    /// A value that the key does not accept.
    #[error("invalid value {key} = {value}; expected {allowed}")]
    BadValue {
        /// The key, with its section.
        key: String,
        /// The value that was given.
        value: String,
        /// The values that the key accepts.
        allowed: Phrase,
    },
    /// Two settings that contradict each other.
    #[error("{0}")]
    Contradiction(Phrase),
}
