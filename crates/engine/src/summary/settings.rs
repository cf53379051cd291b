//! How dropped messages are summed up: what the stage `summarise` says and a note obeys.

use serde::Deserialize;

use super::schema;
use crate::setting::Size;

/// How dropped messages are summed up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Summarise {
    /// Whether to summarise at all.
    pub on: bool,
    /// Who writes it, and when.
    pub mode: Mode,
    /// Where it stands.
    pub placement: Placement,
    /// Tokens of the summary.
    pub max: Size,
    /// Tokens of the ledger.
    pub ledger: Size,
    /// Only when the context had more tokens than this.
    pub over: Size,
    /// Only when the history has so many messages.
    pub min_messages: usize,
    /// What a model's summary is to hold.
    pub schema: String,
    /// The first line.
    pub heading: String,
    /// What the mock user message asks.
    pub question: String,
}

/// Who writes a summary, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The deterministic digest; no model is wanted.
    #[default]
    Digest,
    /// A model, before the call.
    Blocking,
    /// A model, beside the call; it takes effect at the next turn.
    Background,
}

/// Where a summary stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// As the assistant's answer to a made question.
    Mock,
    /// In front of the first kept user message.
    #[default]
    Prefix,
    /// As a system message after the system prompt.
    System,
}

impl Default for Summarise {
    fn default() -> Self {
        Self {
            on: true,
            mode: Mode::Digest,
            placement: Placement::Prefix,
            max: Size::Tokens(2_000),
            ledger: Size::Tokens(0),
            over: Size::Tokens(0),
            min_messages: 0,
            schema: schema::GENERAL.into(),
            heading: "Earlier in this conversation".into(),
            question:
                "Summarise the conversation so far: what was asked, what was done, what is open."
                    .into(),
        }
    }
}
