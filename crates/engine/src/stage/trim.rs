//! `trim`: truncates long tool results to their head, or to head and tail.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Item, Stage, Treatment};
use crate::message::{Message, Truncated};
use crate::reason::Reason;
use crate::reduce;
use crate::setting::{Allowed, Key, Size, Threshold};
use crate::truncate::{Shortened, Truncation, nth_char, truncate};

pub(super) const SPEC: Spec = Spec {
    name: "trim",
    about: "truncate long tool results to their head, or to head and tail",
    keys: &[
        Key::new("style", Allowed::OneOf(&["head", "head-tail"]), "what is kept of a long result"),
        Key::new(
            "over_chars",
            Allowed::Whole(100, 10_000_000),
            "truncate results longer than this",
        ),
        Key::new("head_chars", Allowed::Whole(0, 10_000_000), "characters kept from the beginning"),
        Key::new("tail_chars", Allowed::Whole(0, 10_000_000), "characters kept from the end"),
        Key::new(
            "scope",
            Allowed::OneOf(&["history", "all"]),
            "only earlier turns, or the running turn too",
        ),
        Key::new(
            "whole",
            Allowed::Size,
            "results of at most this many tokens stay whole, in a window where that is more than \
             over_chars",
        ),
        Key::new("keep", Allowed::Size, "the newest tokens that stay as they are"),
        Key::new(
            "fill",
            Allowed::Size,
            "more steps stay as they are, newest first, as long as all that is sent has at most \
             this many tokens",
        ),
        Key::new("over", Allowed::Threshold, "only if the context has more tokens than this"),
    ],
    build: build::<Trim>,
};

/// How long tool results are truncated.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Trim {
    /// What is kept of a long result.
    pub style: Style,
    /// Truncate results longer than this.
    pub over_chars: usize,
    /// Characters kept from the beginning.
    pub head_chars: usize,
    /// Characters kept from the end.
    pub tail_chars: usize,
    /// In which turns.
    pub scope: Scope,
    /// Results of at most this many tokens stay whole, even if they are longer than `over_chars`.
    pub whole: Size,
    /// The newest tokens that stay as they are.
    pub keep: Size,
    /// Steps stay as they are, newest first, while all that is sent has at most this many tokens.
    pub fill: Size,
    /// Only if the context has more tokens than this.
    pub over: Threshold,
}

/// What is kept of a long result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Its beginning (S0.66).
    Head,
    /// Its beginning and its end (S1.29, S2.9).
    #[default]
    HeadTail,
}

/// In which turns results are truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In earlier turns.
    #[default]
    History,
    /// In the running turn too, except in its newest step.
    All,
}

impl Default for Trim {
    fn default() -> Self {
        Self {
            style: Style::HeadTail,
            over_chars: 5_000,
            head_chars: 1_000,
            tail_chars: 1_000,
            scope: Scope::History,
            whole: Size::Tokens(0),
            keep: Size::Tokens(0),
            fill: Size::Tokens(0),
            over: Threshold::default(),
        }
    }
}

/// Characters per token, about, for a limit in tokens.
const CHARS_PER_TOKEN: usize = 4;

impl Trim {
    fn truncate(
        &self,
        text: &str,
        over_chars: usize,
        earlier: Option<&Truncated>,
    ) -> Option<Shortened> {
        let truncation = match self.style {
            Style::Head => Truncation::new(self.over_chars, 0),
            Style::HeadTail => Truncation::new(self.head_chars, self.tail_chars),
        };
        nth_char(text, over_chars).and_then(|_| truncate(text, &truncation.after(earlier)))
    }
}

impl Stage for Trim {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        if !draft.is_over(self.over) {
            return;
        }
        let counter = *draft.history.counter();
        let over_chars = self.over_chars.max(draft.marks.tokens(self.whole) * CHARS_PER_TOKEN);
        let shorten = |message: &Message| {
            let truncate =
                |text: &str, earlier: Option<&Truncated>| self.truncate(text, over_chars, earlier);
            reduce::results(message, &counter, truncate)
        };
        let mut keep = draft.marks.tokens(self.keep);
        let mut are_all_spared = true;
        let mut whole = Vec::new();
        for at in draft.newest_first() {
            // A step that is too large is truncated, and smaller ones before it may still fit.
            let tokens = draft.item(at).map_or(0, |item| item.tokens);
            let is_spared = tokens <= keep || draft.is_protected(at);
            if is_spared {
                keep = keep.saturating_sub(tokens);
                if are_all_spared {
                    draft.trim_boundary = Some(at);
                }
                continue;
            }
            are_all_spared = false;
            if at >= draft.running_turn_start() && self.scope == Scope::History {
                continue;
            }
            let reason = Reason::ResultsTruncated { characters: over_chars };
            let before = draft.item(at).cloned();
            if draft.shorten(at, Treatment::Trimmed, reason, shorten) {
                whole.extend(before.map(|item| (at, item)));
            }
        }
        self.fill(draft, whole);
    }
}

impl Trim {
    /// Sends truncated steps whole again, newest first, as long as there is space.
    fn fill(&self, draft: &mut Draft<'_>, whole: Vec<(usize, Item)>) {
        if self.fill.is_zero() {
            return;
        }
        let limit = draft.marks.tokens(self.fill);
        let is_shown = |at: &usize| draft.unsent_before.binary_search(at).is_err();
        let shown = draft.newest_first().filter(is_shown);
        let mut total: usize = shown.filter_map(|at| draft.item(at)).map(|item| item.tokens).sum();
        for (at, item) in whole {
            total += item.tokens - draft.item(at).map_or(0, |item| item.tokens);
            if total > limit {
                return;
            }
            draft.restore(at, item);
            draft.trim_boundary = draft.trim_boundary.min(Some(at)).or(Some(at));
        }
    }
}
