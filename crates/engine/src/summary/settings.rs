//! The settings of the `summarise` stage: how dropped messages are summarized.

use serde::Deserialize;

use crate::setting::{Size, Threshold};

/// The schema of a policy that does not name one.
pub const GENERAL: &str = "general";

/// How dropped messages are summarized.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Summarize {
    /// Whether to summarize at all.
    pub on: bool,
    /// Who writes the summary, and when.
    pub mode: Mode,
    /// Where the summary goes in the context.
    pub placement: Placement,
    /// Maximum number of tokens that the summary may take.
    pub max: Size,
    /// Maximum number of tokens that the ledger may take.
    pub ledger: Size,
    /// Maximum number of tokens that the ledger may grow to in a conversation of many windows.
    pub ledger_max: Size,
    /// The tokens of the ledger that several folds send unchanged, in a message of their own.
    pub stable: Size,
    /// Summarize only if the context had more tokens than this.
    pub over: Threshold,
    /// Summarize only if the history has at least this many messages.
    pub min_messages: usize,
    /// A summary is updated only if at least this many messages are new.
    pub update_messages: usize,
    /// A summary is updated only if the new messages have more tokens than this share of it.
    pub update_ratio: Size,
    /// The name of the schema: what a model's summary must contain.
    pub schema: String,
    /// A prompt that replaces the one of the schema; empty for none.
    pub prompt: String,
    /// The first line of the summary.
    pub heading: String,
    /// The text of the mock user message, for [`Placement::Mock`]; empty for that of the schema.
    pub question: String,
}

/// Who writes a summary, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// No model: the deterministic digest.
    #[default]
    Digest,
    /// A model, before the call.
    Blocking,
    /// A model, in parallel with the call. The summary takes effect in the next turn.
    Background,
}

/// Where a summary goes in the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// As the assistant's answer to a mock question.
    Mock,
    /// In front of the first kept user message.
    #[default]
    Prefix,
    /// As a user message of its own, before the first kept message.
    Own,
    /// As a user message of its own, between the shortened messages and the newest ones. What
    /// precedes it can stay the same over several folds, and so stays cached.
    Middle,
    /// As a system message after the system prompt.
    System,
}

impl Default for Summarize {
    fn default() -> Self {
        Self {
            on: true,
            mode: Mode::Digest,
            placement: Placement::Prefix,
            max: Size::Tokens(2_000),
            ledger: Size::Tokens(0),
            ledger_max: Size::Tokens(0),
            stable: Size::Tokens(0),
            over: Threshold::default(),
            min_messages: 0,
            update_messages: 0,
            update_ratio: Size::percent(0),
            schema: GENERAL.into(),
            prompt: String::new(),
            heading: "Earlier in this conversation".into(),
            question: String::new(),
        }
    }
}
