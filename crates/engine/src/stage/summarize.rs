//! `summarise`: replaces what the stages dropped with a summary and a ledger of values. The planner
//! cannot call a model: a plan contains the deterministic digest and says which summary it *wants*.

use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::reason::Reason;
use crate::setting::{Allowed, Key};
use crate::summary::{Mode, Summarize, schema};

pub(super) const SPEC: Spec = Spec {
    name: "summarise",
    about: "replace dropped messages with a summary and a ledger of values",
    keys: &[
        Key::new("on", Allowed::Flag, "whether to summarize at all"),
        Key::new(
            "mode",
            Allowed::OneOf(&["digest", "blocking", "background"]),
            "without a model, by a model before the call, or by a model in the background",
        ),
        Key::new(
            "placement",
            Allowed::OneOf(&["mock", "prefix", "own", "middle", "system"]),
            "as question and answer, in the first kept user message, as a user message of its own \
             in front of the kept messages or of the newest ones, or as a system message",
        ),
        Key::new("max", Allowed::Size, "maximum number of tokens of the summary"),
        Key::new("ledger", Allowed::Size, "maximum number of tokens of the ledger of values"),
        Key::new(
            "ledger_max",
            Allowed::Size,
            "maximum number of tokens of the ledger in a conversation of more than three windows",
        ),
        Key::new(
            "stable",
            Allowed::Size,
            "tokens of the ledger that several folds send unchanged, so that they stay cached",
        ),
        Key::new(
            "over",
            Allowed::Threshold,
            "only if the context has more tokens than this after the preceding stages",
        ),
        Key::new(
            "min_messages",
            Allowed::Whole(0, 100_000),
            "only if the history has at least this many messages",
        ),
        Key::new(
            "update_messages",
            Allowed::Whole(0, 100_000),
            "update a model's summary only if at least this many messages are new",
        ),
        Key::new(
            "update_ratio",
            Allowed::Size,
            "update it only if the new messages have more tokens than this share of the summary",
        ),
        Key::new("schema", Allowed::OneOf(schema::NAMES), "what a model's summary must contain"),
        Key::new(
            "prompt",
            Allowed::Text,
            "prompt for a model's summary, instead of the schema's English and Chinese ones",
        ),
        Key::new("heading", Allowed::Text, "the first line of the summary"),
        Key::new(
            "question",
            Allowed::Text,
            "the text of the mock user message; empty for that of the schema",
        ),
    ],
    build: build::<Summarize>,
};

impl Stage for Summarize {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn summary(&self) -> Option<&Self> {
        self.on.then_some(self)
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        if !self.on {
            return;
        }
        if draft.had_block && self.mode != Mode::Digest {
            // The messages that a model summarized would only come back to be summarized again.
            draft.omit_unsent_before(Reason::EarlierFold);
        }
        let over = draft.marks.threshold(self.over);
        let is_long = draft.history.len() >= self.min_messages
            && draft.unfolded() > over
            && draft.projected_tokens() > over;
        if is_long || draft.had_block {
            draft.summary_settings = Some(self.clone());
        }
        draft.keeps_block = draft.had_block && !is_long && self.mode == Mode::Blocking;
    }
}
