//! `window`: keeps only the newest messages, turns or tokens. Atoms stay whole, and the newest user
//! message stays even if it lies outside the window.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::history::AtomKind;
use crate::setting::{Allowed, FoldRule, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "window",
    about: "keep only the newest messages, turns or tokens",
    keys: &[
        Key::new(
            "messages",
            Allowed::Whole(10, 100),
            "number of messages to keep; a step that starts among them stays whole",
        ),
        Key::new("turns", Allowed::Whole(1, 1_000), "number of turns to keep"),
        Key::new("tokens", Allowed::Size, "number of tokens to keep"),
        Key::new(
            "only",
            Allowed::OneOf(&["all", "user"]),
            "keep all messages, or only those of the user",
        ),
        Key::new(
            "clip",
            Allowed::Flag,
            "truncate the oldest step that fits only in part, instead of dropping it",
        ),
        Key::new("over", Allowed::Size, "only if the context has more tokens than this"),
    ],
    build: build::<Window>,
};

/// How many of the newest messages stay. If several limits are set, all of them apply.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// The number of messages to keep.
    pub messages: Option<usize>,
    /// The number of turns to keep.
    pub turns: Option<usize>,
    /// The number of tokens to keep.
    pub tokens: Option<Size>,
    /// Whose messages are kept.
    pub only: Only,
    /// Truncate the oldest step that fits only in part, instead of dropping it.
    pub clip: bool,
    /// Only if the context has more tokens than this.
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

/// Whose messages are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// All messages.
    #[default]
    All,
    /// Only the user's messages and the newest step of the agent.
    User,
}

/// A step truncated to fewer tokens than this is useless.
const MIN_CLIP_TOKENS: usize = 120;

impl Stage for Window {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        if draft.total() <= draft.marks.mark(self.over) {
            return;
        }
        if self.only == Only::User {
            for at in draft
                .newest_first()
                .filter(|&at| draft.kind(at) != AtomKind::User)
                .collect::<Vec<_>>()
            {
                draft.drop(at, "only messages of the user stay");
            }
        }
        if let Some(turns) = self.turns {
            keep_turns(draft, turns, &format!("older than the last {turns} turns"));
        }
        if let Some(messages) = self.messages {
            keep_messages(draft, messages);
        }
        if let Some(tokens) = self.tokens {
            let tokens = draft.marks.tokens(tokens);
            keep_tokens(draft, tokens, self.clip);
        }
    }

    fn concern(&self, rule: &FoldRule) -> Option<String> {
        match (self.tokens, rule.high) {
            (Some(Size::Tokens(keep)), Size::Tokens(high)) if high < keep => Some(format!(
                "fold.high ({high}) is below window.tokens ({keep}): a fold may free nothing"
            )),
            _ => None,
        }
    }
}

/// Drops everything before the last `turns` turns.
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

/// Keeps the newest atoms that fit. The first one that does not fit ends the window, so that there
/// are no gaps (C3.5).
fn keep_tokens(draft: &mut Draft<'_>, tokens: usize, clip: bool) {
    let mut left = tokens;
    let mut is_full = false;
    for at in draft.newest_first() {
        if is_full {
            draft.drop(at, "older than the newest tokens that fit");
            continue;
        }
        draft.arrive(at);
        let size = draft.item(at).map_or(0, |item| item.tokens);
        if size <= left || draft.item(at).is_some_and(|item| item.pinned) {
            left = left.saturating_sub(size);
            continue;
        }
        is_full = true;
        let clipped = clip
            && left >= MIN_CLIP_TOKENS
            && !draft.is_protected(at)
            && draft.clip(at, left, "only part of this step fits; truncated in the middle");
        if !clipped {
            draft.drop(at, "older than the newest tokens that fit");
        }
    }
}
