//! `window`: only the newest part stays, measured in messages, turns or tokens. Atoms are kept
//! whole; the newest user message stays even when the window has moved past it.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::history::AtomKind;
use crate::setting::{Allowed, FoldRule, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "window",
    about: "only the newest messages, turns or tokens stay",
    keys: &[
        Key::new(
            "messages",
            Allowed::Whole(10, 100),
            "keep so many messages; a step that begins inside stays whole",
        ),
        Key::new("turns", Allowed::Whole(1, 1_000), "keep so many turns"),
        Key::new("tokens", Allowed::Size, "keep so many tokens"),
        Key::new(
            "only",
            Allowed::OneOf(&["all", "user"]),
            "every message, or only what the user said",
        ),
        Key::new(
            "clip",
            Allowed::Flag,
            "the step that the window cuts into is shortened instead of dropped",
        ),
        Key::new("over", Allowed::Size, "only when the context has more tokens than this"),
    ],
    build: build::<Window>,
};

/// How much of the newest part stays. Several limits together all hold.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// Keep so many messages.
    pub messages: Option<usize>,
    /// Keep so many turns.
    pub turns: Option<usize>,
    /// Keep so many tokens.
    pub tokens: Option<Size>,
    /// Whose messages.
    pub only: Only,
    /// Shorten the step that the window cuts into.
    pub clip: bool,
    /// Only when the context has more tokens than this.
    pub over: Size,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            messages: None,
            turns: None,
            tokens: None,
            only: Only::All,
            clip: false,
            over: Size::Tokens(0),
        }
    }
}

/// Whose messages stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// Everyone's.
    #[default]
    All,
    /// The user's; of the agent's work the newest step.
    User,
}

/// A clipped step shorter than this says too little to be worth its place.
const LEAST_CLIP: usize = 120;

impl Stage for Window {
    fn fold(&self, draft: &mut Draft<'_>) {
        if draft.total() <= draft.room.mark(self.over) {
            return;
        }
        if self.only == Only::User {
            for at in draft
                .newest_first()
                .filter(|&at| draft.kind(at) != AtomKind::User)
                .collect::<Vec<_>>()
            {
                draft.drop(at, "only what the user said stays");
            }
        }
        if let Some(turns) = self.turns {
            keep_turns(draft, turns, &format!("older than the last {turns} turns"));
        }
        if let Some(messages) = self.messages {
            keep_messages(draft, messages);
        }
        if let Some(tokens) = self.tokens {
            let tokens = draft.room.tokens(tokens);
            keep_tokens(draft, tokens, self.clip);
        }
    }

    fn concern(&self, rule: &FoldRule) -> Option<String> {
        match (self.tokens, rule.high) {
            (Some(Size::Tokens(keep)), Size::Tokens(high)) if high < keep => Some(format!(
                "fold.high ({high}) lies below window.tokens ({keep}): a fold may be tried that frees nothing"
            )),
            _ => None,
        }
    }
}

/// Drops what stands before the last so many turns.
pub(super) fn keep_turns(draft: &mut Draft<'_>, turns: usize, reason: &str) {
    let kept = draft.kept_turns();
    let Some(&oldest) = kept.get(kept.len().saturating_sub(turns)) else { return };
    let first = draft.history.turn_atoms(oldest).start;
    for at in draft.newest_first().filter(|&at| at < first) {
        draft.drop(at, reason);
    }
}

fn keep_messages(draft: &mut Draft<'_>, messages: usize) {
    let mut count = 0;
    for at in draft.newest_first() {
        if count >= messages {
            draft.drop(at, format!("older than the last {messages} messages"));
        } else {
            count += draft.history.atom(at).map_or(0, |atom| atom.messages.len());
        }
    }
}

/// Keeps a contiguous end: the first atom that does not fit ends it, so that there are no holes
/// (C3.5).
fn keep_tokens(draft: &mut Draft<'_>, tokens: usize, clip: bool) {
    let mut left = tokens;
    let mut full = false;
    for at in draft.newest_first() {
        if full {
            draft.drop(at, "older than the newest tokens that fit");
            continue;
        }
        draft.arrive(at);
        let size = draft.item(at).map_or(0, |item| item.tokens);
        if size <= left || draft.item(at).is_some_and(|item| item.pinned) {
            left = left.saturating_sub(size);
            continue;
        }
        full = true;
        let clipped = clip
            && left >= LEAST_CLIP
            && !draft.is_protected(at)
            && draft.clip(at, left, "the window cuts into this step: it lost its middle");
        if !clipped {
            draft.drop(at, "older than the newest tokens that fit");
        }
    }
}
