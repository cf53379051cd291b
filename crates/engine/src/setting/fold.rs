//! When a fold starts, and how far down it must come.

use serde::Deserialize;

use super::error::PolicyError;
use super::key::{Allowed, Key};
use super::size::Size;

/// What may be set under `[fold]`.
pub const KEYS: &[Key] = &[
    Key::new("high", Allowed::Size, "a fold starts when the context has more tokens than this"),
    Key::new("low", Allowed::Size, "and must come down to this"),
    Key::new(
        "free",
        Allowed::Size,
        "a fold that frees less does not happen, unless the window forces it",
    ),
    Key::new("target", Allowed::Size, "how much of the window is used at all"),
    Key::new(
        "messages",
        Allowed::Whole(0, 100_000),
        "a fold is considered above so many messages; 0: never for that",
    ),
    Key::new(
        "turns",
        Allowed::Whole(0, 100_000),
        "a fold is considered above so many turns; 0: never for that",
    ),
    Key::new(
        "when",
        Allowed::OneOf(&["call", "turn", "window"]),
        "considered before every call, when a new turn begins, or only when the window forces it",
    ),
    Key::new(
        "by",
        Allowed::OneOf(&["size", "cost"]),
        "marks that are shares lie where they say, or lower, so far apart that a fold pays for itself with the model's prices",
    ),
];

/// How often a fold is considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before every call.
    Call,
    /// Only when a new turn begins; inside a turn only what the window forces.
    Turn,
    /// Only what the window forces; until then somebody is reminded.
    Window,
}

/// Where marks that are shares lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Where they say.
    Size,
    /// Lower, if the model's prices say so.
    Cost,
}

/// When a fold starts, and how far down it must come.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FoldRule {
    /// More tokens than this start a fold.
    pub high: Size,
    /// To which it must come down; where none is given, what the stages keep is enough.
    pub low: Option<Size>,
    /// A fold that frees less does not happen.
    pub free: Size,
    /// How much of the window is used at all.
    pub target: Size,
    /// More messages than this (0: no limit).
    pub messages: usize,
    /// More turns than this (0: no limit).
    pub turns: usize,
    /// How often it is considered.
    pub when: When,
    /// Where marks that are shares lie.
    pub by: By,
}

impl Default for FoldRule {
    fn default() -> Self {
        Self {
            high: Size::percent(100),
            low: None,
            free: Size::percent(10),
            target: Size::percent(100),
            messages: 0,
            turns: 0,
            when: When::Call,
            by: By::Size,
        }
    }
}

impl FoldRule {
    pub(crate) fn read(table: Option<&toml::Table>) -> Result<Self, PolicyError> {
        let table = table.cloned().unwrap_or_default();
        let rule: Self = table
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| PolicyError::Syntax(error.to_string()))?;
        match (rule.low, rule.high) {
            (Some(low @ Size::Tokens(l)), high @ Size::Tokens(h)) if l >= h => {
                Err(not_below(low, high))
            }
            (Some(low @ Size::Share(l)), high @ Size::Share(h)) if l >= h => {
                Err(not_below(low, high))
            }
            _ => Ok(rule),
        }
    }
}

fn not_below(low: Size, high: Size) -> PolicyError {
    PolicyError::Contradiction(format!("fold.low ({low}) must lie below fold.high ({high})"))
}
