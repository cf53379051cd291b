//! What can be wrong with a policy.

use thiserror::Error;

/// A policy that cannot be used, with what to do about it.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// Not TOML.
    #[error("not a policy: {0}")]
    Syntax(String),
    /// No preset of that name.
    #[error("no preset is called {name:?}; there are {known} (or give a TOML file)")]
    UnknownPreset {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No stage of that name.
    #[error("no stage is called {name:?}; there are {known}")]
    UnknownStage {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A key that nothing reads.
    #[error("unknown key {key}; allowed there: {known}")]
    UnknownKey {
        /// The key, with its section.
        key: String,
        /// The keys there are.
        known: String,
    },
    /// A value out of range.
    #[error("{key} = {value} is not allowed: it takes {allowed}")]
    BadValue {
        /// The key, with its section.
        key: String,
        /// The value given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Two settings that contradict each other.
    #[error("{0}")]
    Contradiction(String),
}
