//! `summarise`: what the stages before it dropped is replaced by a summary and a ledger of values,
//! instead of by nothing. The planner cannot call a model: the plan says what it *wants* and
//! carries the deterministic digest.

use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::setting::{Allowed, Key};
use crate::summary::{Summarise, schema};

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
        Key::new(
            "min_messages",
            Allowed::Whole(0, 100_000),
            "only when the history has so many messages",
        ),
        Key::new("schema", Allowed::OneOf(schema::NAMES), "what a model's summary is to hold"),
        Key::new("heading", Allowed::Text, "the first line of the summary"),
        Key::new("question", Allowed::Text, "what the mock user message asks"),
    ],
    build: build::<Summarise>,
};

impl Stage for Summarise {
    fn fold(&self, draft: &mut Draft<'_>) {
        let enough =
            draft.history.len() >= self.min_messages && draft.total() > draft.room.mark(self.over);
        if self.on && (enough || draft.had_summary) {
            draft.summary = Some(self.clone());
        }
    }
}
