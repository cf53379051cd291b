//! The `[fold]` section of a policy: when a fold starts, and how much it must free.

use serde::Deserialize;

use super::error::PolicyError;
use super::key::{Allowed, Key};
use super::size::Size;
use crate::phrase;

/// The keys of `[fold]`.
pub const KEYS: &[Key] = &[
    Key::new(
        "high",
        Allowed::Size,
        "high mark: a fold starts when the context has more tokens than this",
    ),
    Key::new("low", Allowed::Size, "low mark: a fold shrinks the context to this"),
    Key::new(
        "free",
        Allowed::Size,
        "a fold that frees less than this is skipped, unless the context exceeds the window",
    ),
    Key::new("target", Allowed::Size, "how much of the window may be used"),
    Key::new(
        "messages",
        Allowed::Whole(0, 100_000),
        "also fold above this number of messages; 0 for no limit",
    ),
    Key::new(
        "min_messages",
        Allowed::Whole(0, 100_000),
        "a conversation of at most this many messages is folded only if it exceeds the window",
    ),
    Key::new(
        "turns",
        Allowed::Whole(0, 100_000),
        "also fold above this number of turns; 0 for no limit",
    ),
    Key::new(
        "when",
        Allowed::OneOf(&["call", "turn", "high", "window"]),
        "when to check: call: before every call; turn: when a turn starts, and when the window is \
         exceeded; high: when a turn starts, and when the high mark is exceeded; window: only when \
         the window is exceeded",
    ),
    Key::new(
        "resume",
        Allowed::OneOf(&["all", "texts"]),
        "after a restart: send what was sent before, or only requests and answers of the latest \
         turns",
    ),
    Key::new(
        "by",
        Allowed::OneOf(&["size", "cost"]),
        "how marks in percent are placed: as given, or lower if prices make that cheaper",
    ),
];

/// When a fold is considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before every call.
    Call,
    /// When a new turn starts, and when the context exceeds the window.
    Turn,
    /// When a new turn starts, and when the context exceeds the high mark.
    High,
    /// Only when the context exceeds the window. Until then the caller may remind the user.
    Window,
}

/// What a conversation continues with after a restart of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resume {
    /// What was sent before, byte for byte.
    All,
    /// The requests and answers of the latest turns.
    Texts,
}

/// How marks in percent are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// As given.
    Size,
    /// Lower, if the model's prices make an earlier fold cheaper.
    Cost,
}

/// When a fold starts, and how much it must free.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FoldRule {
    /// The high mark: a fold starts when the context has more tokens than this.
    pub high: Size,
    /// The low mark: a fold shrinks the context to this. If it is not set, a fold keeps whatever
    /// the stages keep.
    pub low: Option<Size>,
    /// A fold that frees less than this is skipped.
    pub free: Size,
    /// How much of the window may be used.
    pub target: Size,
    /// Also fold above this number of messages; 0 for no limit.
    pub messages: usize,
    /// A conversation of at most this many messages is folded only if it exceeds the window.
    pub min_messages: usize,
    /// Also fold above this number of turns; 0 for no limit.
    pub turns: usize,
    /// When a fold is considered.
    pub when: When,
    /// What a conversation continues with after a restart.
    pub resume: Resume,
    /// How marks in percent are placed.
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
            min_messages: 0,
            turns: 0,
            when: When::Call,
            resume: Resume::All,
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
    PolicyError::Contradiction(phrase!(
        "policy-low-not-below-high",
        "fold.low ({low}) must be lower than fold.high ({high})",
        low = low.to_string(),
        high = high.to_string()
    ))
}
