//! `window`: keeps only the newest messages, turns, steps or tokens. Atoms stay whole, and the
//! newest user message stays even if it lies outside the window.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{CountLimit, Draft, Stage};
use crate::history::AtomKind;
use crate::phrase;
use crate::phrase::Phrase;
use crate::reason::Reason;
use crate::setting::{Allowed, FoldRule, Key, Size, Threshold};

pub(super) const SPEC: Spec = Spec {
    name: "window",
    about: "keep only the newest messages, turns, steps or tokens",
    keys: &[
        Key::new(
            "messages",
            Allowed::Whole(10, 100),
            "number of messages to keep; a step that starts among them stays whole",
        ),
        Key::new(
            "strict",
            Allowed::Flag,
            "drop a step that starts among the messages to keep if it makes them too many",
        ),
        Key::new(
            "summary_over",
            Allowed::Whole(0, 100_000),
            "if the policy summarizes: drop nothing up to this number of messages; 0 to ignore it",
        ),
        Key::new(
            "summary_keep",
            Allowed::Whole(1, 100_000),
            "number of messages to keep next to a summary, instead of `messages`",
        ),
        Key::new("turns", Allowed::Whole(1, 1_000), "number of turns to keep"),
        Key::new(
            "steps",
            Allowed::Whole(1, 1_000),
            "number of steps to keep; a step is one model call with its results",
        ),
        Key::new("tokens", Allowed::Size, "number of tokens to keep"),
        Key::new(
            "tokens_min",
            Allowed::Size,
            "number of tokens to keep in a long conversation: `tokens` shrinks to it as the \
             conversation grows beyond three windows",
        ),
        Key::new(
            "slack",
            Allowed::Size,
            "keep this many tokens more as long as nothing has to be dropped that the last fold \
             kept: then the beginning of the context stays cached",
        ),
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
        Key::new("over", Allowed::Threshold, "only if the context has more tokens than this"),
    ],
    build: build::<Window>,
};

/// How many of the newest messages stay. If several limits are set, all of them apply.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Window {
    /// The number of messages to keep.
    pub messages: Option<usize>,
    /// Whether a step that would exceed `messages` is dropped.
    pub strict: bool,
    /// If the policy summarizes: drop nothing up to this number of messages; 0 to ignore it.
    pub summary_over: usize,
    /// The number of messages to keep next to a summary, instead of `messages`.
    pub summary_keep: Option<usize>,
    /// The number of turns to keep.
    pub turns: Option<usize>,
    /// The number of steps to keep.
    pub steps: Option<usize>,
    /// The number of tokens to keep.
    pub tokens: Option<Size>,
    /// The number of tokens to keep in a long conversation.
    pub tokens_min: Option<Size>,
    /// How far the kept messages may exceed `tokens` if everything that the last fold kept then
    /// stays.
    pub slack: Size,
    /// Whose messages are kept.
    pub only: Only,
    /// Truncate the oldest step that fits only in part, instead of dropping it.
    pub clip: bool,
    /// Only if the context has more tokens than this.
    pub over: Threshold,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            messages: None,
            strict: false,
            summary_over: 0,
            summary_keep: None,
            turns: None,
            steps: None,
            tokens: None,
            tokens_min: None,
            slack: Size::Tokens(0),
            only: Only::All,
            clip: false,
            over: Threshold::default(),
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

/// A conversation of up to this many windows keeps all of `tokens`.
const FULL_WINDOWS: usize = 3;

impl Stage for Window {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        if !draft.is_over(self.over) {
            return;
        }
        if self.only == Only::User {
            for at in draft
                .newest_first()
                .filter(|&at| draft.kind(at) != AtomKind::User)
                .collect::<Vec<_>>()
            {
                draft.omit(at, Reason::OnlyUser);
            }
        }
        if let Some(turns) = self.turns {
            keep_turns(draft, turns, &Reason::OlderThanTurns { turns });
        }
        if let Some(steps) = self.steps {
            keep_steps(draft, steps, &Reason::OlderThanSteps { steps });
        }
        if let Some(messages) = self.messages {
            self.keep_messages(draft, messages);
        }
        if let Some(tokens) = self.tokens {
            let tokens = self.tokens_to_keep(draft, draft.marks.tokens(tokens));
            if !self.keeps_all_shown(draft, tokens) {
                keep_tokens(draft, tokens, self.clip);
            }
        }
    }

    fn steps(&self) -> Option<usize> {
        self.steps
    }

    fn limit(&self, summarizes: bool) -> Option<CountLimit> {
        let messages = self.messages?;
        let is_later = self.summary_over > 0 && summarizes;
        Some(CountLimit::Messages(if is_later { self.summary_over } else { messages }))
    }

    fn settings_warning(&self, rule: &FoldRule) -> Option<Phrase> {
        match (self.tokens, rule.high) {
            (Some(Size::Tokens(keep)), Size::Tokens(high)) if high < keep => Some(phrase!(
                "warning-high-below-window",
                "fold.high ({high}) is below window.tokens ({keep}): a fold may free nothing",
                high = high,
                keep = keep
            )),
            _ => None,
        }
    }
}

/// Drops everything before the last `turns` turns.
pub(crate) fn keep_turns(draft: &mut Draft<'_>, turns: usize, reason: &Reason) {
    let kept = draft.kept_turns();
    let Some(&oldest) = kept.get(kept.len().saturating_sub(turns)) else { return };
    let first = draft.history.turn_atoms(oldest).start;
    for at in draft.newest_first().filter(|&at| at < first) {
        draft.omit(at, reason.clone());
    }
}

/// Drops everything before the last `steps` steps.
fn keep_steps(draft: &mut Draft<'_>, steps: usize, reason: &Reason) {
    let kept = draft.kept_steps();
    let Some(&first) = kept.get(kept.len().saturating_sub(steps)) else { return };
    for at in draft.newest_first().filter(|&at| at < first) {
        draft.omit(at, reason.clone());
    }
}

/// Drops the older half of the kept steps. Returns whether it dropped anything.
pub(super) fn drop_older_steps(draft: &mut Draft<'_>) -> bool {
    let before = draft.tokens();
    let steps = draft.kept_steps().len();
    let keep = (steps / 2).max(1);
    keep_steps(draft, keep, &Reason::StepsTooLong { steps, keep });
    draft.tokens() < before
}

impl Window {
    /// Returns how many of `tokens` tokens are kept. A long conversation is likely to be folded
    /// many times more, and keeping less makes these folds fewer.
    fn tokens_to_keep(&self, draft: &Draft<'_>, tokens: usize) -> usize {
        let Some(min) = self.tokens_min else { return tokens };
        let usual = draft.marks.available.saturating_mul(FULL_WINDOWS);
        let shrunk =
            tokens.saturating_mul(usual) / draft.history_conversation_tokens().max(usual).max(1);
        shrunk.max(draft.marks.tokens(min)).min(tokens)
    }

    /// Keeps what the context before the fold showed, and what came since, if all of it fits into
    /// `tokens` plus `slack`. Returns whether it does.
    fn keeps_all_shown(&self, draft: &mut Draft<'_>, tokens: usize) -> bool {
        if self.slack.is_zero() {
            return false;
        }
        let is_shown = |at: &usize| draft.unsent_before.binary_search(at).is_err();
        let shown: Vec<usize> = draft.newest_first().filter(is_shown).collect();
        let mut size = 0;
        for at in shown {
            draft.arrive(at);
            size += draft.item(at).map_or(0, |item| item.tokens);
        }
        let fits = size <= tokens + draft.marks.tokens(self.slack);
        if fits {
            draft.omit_unsent_before(Reason::OlderThanTokens);
        }
        fits
    }

    fn keep_messages(&self, draft: &mut Draft<'_>, messages: usize) {
        let mut messages = messages;
        let mut strict = self.strict;
        if self.summary_over > 0 && draft.summarizes() {
            draft.omit_unsent_before(Reason::EarlierFold);
            let shown: usize = draft.newest_first().map(|at| length(draft, at)).sum();
            if shown <= self.summary_over {
                return;
            }
            messages = self.summary_keep.unwrap_or(messages);
            // All of these stay, with the request that the oldest one answers.
            strict = false;
        }
        let reason = Reason::OlderThanMessages { messages };
        let first = if strict { strict_start(draft, messages) } else { start(draft, messages) };
        for at in draft.newest_first().filter(|&at| first.is_some_and(|first| at < first)) {
            draft.omit(at, reason.clone());
        }
    }
}

/// Returns the number of messages of an atom.
fn length(draft: &Draft<'_>, at: usize) -> usize {
    draft.history.atom(at).map_or(0, |atom| atom.messages.len())
}

/// Returns the oldest atom that starts among the last `messages` messages.
fn start(draft: &Draft<'_>, messages: usize) -> Option<usize> {
    let mut count = 0;
    let starts_inside = |&at: &usize| {
        let is_inside = count < messages;
        count += length(draft, at);
        is_inside
    };
    draft.newest_first().take_while(starts_inside).last()
}

/// Returns the oldest atom to keep, so that at most `messages` messages are sent. Messages that
/// stay anyway count: pins, the newest request, the newest step, and the request that opens the
/// oldest turn.
fn strict_start(draft: &Draft<'_>, messages: usize) -> Option<usize> {
    let stays = |at: usize| draft.is_protected(at) || draft.item(at).is_some_and(|i| i.pinned);
    let atoms: Vec<usize> = draft.newest_first().collect();
    let mut forced: usize =
        atoms.iter().filter(|&&at| stays(at)).map(|&at| length(draft, at)).sum();
    let mut first = atoms.first().copied();
    let mut count = 0;
    for &at in &atoms {
        count += length(draft, at);
        forced -= if stays(at) { length(draft, at) } else { 0 };
        if count + forced > messages {
            break;
        }
        let needs_opener = draft.kind(at) != AtomKind::User
            && draft.opener_of(at).is_some_and(|opener| !stays(opener));
        if count + forced + usize::from(needs_opener) <= messages {
            first = Some(at);
        }
    }
    first
}

/// Keeps the newest atoms that fit. The first one that does not fit ends the window, so that there
/// are no gaps (C3.5).
fn keep_tokens(draft: &mut Draft<'_>, tokens: usize, clip: bool) {
    let mut left = tokens;
    let mut is_full = false;
    for at in draft.newest_first() {
        if is_full {
            draft.omit(at, Reason::OlderThanTokens);
            continue;
        }
        draft.arrive(at);
        let size = draft.item(at).map_or(0, |item| item.tokens);
        if size <= left || draft.item(at).is_some_and(|item| item.pinned) {
            left = left.saturating_sub(size);
            continue;
        }
        is_full = true;
        let is_truncated = clip
            && left >= MIN_CLIP_TOKENS
            && !draft.is_protected(at)
            && draft.truncate(at, left, Reason::PartOfStep);
        if !is_truncated {
            draft.omit(at, Reason::OlderThanTokens);
        }
    }
}
