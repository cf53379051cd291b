//! `summarise`: what the stages before it dropped is replaced by a summary and a ledger of values, instead of by
//! nothing. The planner cannot call a model: the plan says what it *wants* and carries the deterministic digest.

use serde::Deserialize;

use super::{Spec, Stage, build};
use crate::plan::Draft;
use crate::policy::{Allowed, Key, Size};
use crate::summary::schema;

pub(super) const SPEC: Spec = Spec {
    name: "summarise",
    about: "replace what was dropped by a summary and a ledger of values",
    keys: &[
        Key::new("on", Allowed::Flag, "whether to summarise at all"),
        Key::new(
            "mode",
            Allowed::OneOf(&["digest", "blocking", "background"]),
            "without a model, before the call, or beside it",
        ),
        Key::new(
            "placement",
            Allowed::OneOf(&["mock", "prefix", "system"]),
            "as question and answer, before the first kept user message, or as a system message",
        ),
        Key::new("max", Allowed::Size, "tokens of the summary"),
        Key::new("ledger", Allowed::Size, "tokens of the ledger of values"),
        Key::new(
            "over",
            Allowed::Size,
            "only when the context has more tokens than this, as the stages before left it",
        ),
        Key::new("min_messages", Allowed::Whole(0, 100_000), "only when the history has so many messages"),
        Key::new("schema", Allowed::OneOf(schema::NAMES), "what a model's summary is to hold"),
        Key::new("heading", Allowed::Text, "the first line of the summary"),
        Key::new("question", Allowed::Text, "what the mock user message asks"),
    ],
    build: build::<Summarise>,
};

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
            question: "Summarise the conversation so far: what was asked, what was done, what is open.".into(),
        }
    }
}

impl Stage for Summarise {
    fn fold(&self, draft: &mut Draft<'_>) {
        let enough = draft.history.len() >= self.min_messages && draft.total() > draft.room.mark(self.over);
        if self.on && (enough || draft.had_summary) {
            draft.summary = Some(self.clone());
        }
    }
}
