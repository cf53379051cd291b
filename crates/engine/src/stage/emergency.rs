//! `emergency`: shrinks a context that is still too large after every other stage. It takes one
//! step after the other, each of which loses more than the one before, until the context fits. The
//! newest user message always stays. With `over` it also acts on what fits, but is over that mark.
//! Every policy has this stage, listed or not.

use serde::Deserialize;

use super::window::{drop_older_steps, keep_turns};
use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::AtomKind;
use crate::message::{Body, Truncated};
use crate::phrase;
use crate::reason::Reason;
use crate::reduce;
use crate::setting::{Allowed, Key, Threshold};
use crate::truncate::{Truncation, nth_char, truncate};
use crate::warning::WarningKind;

pub(super) const SPEC: Spec = Spec {
    name: "emergency",
    about: "shrink a context that still does not fit into the window",
    keys: &[
        Key::new(
            "result_chars",
            Allowed::Whole(100, 1_000_000),
            "truncate tool results to this many characters",
        ),
        Key::new(
            "user_chars",
            Allowed::Whole(100, 1_000_000),
            "truncate other texts to this many characters",
        ),
        Key::new("turns", Allowed::Whole(1, 1_000), "number of turns to keep"),
        Key::new(
            "over",
            Allowed::Threshold,
            "also drop the older half of the kept steps while the context has more tokens than \
             this",
        ),
    ],
    build: build::<Emergency>,
};

/// How far a context is shrunk in an emergency.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Emergency {
    /// Truncate tool results to this many characters.
    pub result_chars: usize,
    /// Truncate other texts to this many characters.
    pub user_chars: usize,
    /// The number of turns to keep.
    pub turns: usize,
    /// Also drop the older half of the kept steps while the context has more tokens than this.
    pub over: Option<Threshold>,
}

impl Default for Emergency {
    fn default() -> Self {
        Self { result_chars: 10_000, user_chars: 10_000, turns: 5, over: None }
    }
}

/// If protected messages must be truncated, the context shrinks to this percentage of the window,
/// so that the next message does not overflow it again.
const TARGET_PERCENT: usize = 75;

/// If the newest messages must be truncated, the turns before them may take this percentage of the
/// window.
const EARLIER_PERCENT: usize = 25;

/// The newest step keeps at least this many tokens. A window that has no space even for that is too
/// small, and truncating more would not help.
const MIN_STEP_TOKENS: usize = 64;

/// The newest user message keeps at least this many tokens.
const MIN_USER_TOKENS: usize = 400;

impl Stage for Emergency {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        let Some(over) = self.over else { return };
        while draft.is_over(over) && drop_older_steps(draft) {}
    }

    fn rescue(&self, draft: &mut Draft<'_>) -> bool {
        let steps: [fn(&Self, &mut Draft<'_>); 8] = [
            Self::shorten_texts,
            Self::drop_turns,
            Self::drop_all_but_newest,
            Self::drop_thinking,
            Self::truncate_pinned,
            Self::truncate_step,
            Self::drop_systems,
            Self::truncate_user,
        ];
        for step in steps {
            if draft.tokens() <= draft.marks.window {
                return true;
            }
            step(self, draft);
        }
        true
    }

    fn fold_harder(&self, draft: &mut Draft<'_>) -> bool {
        self.truncate_and_drop(draft);
        true
    }

    fn truncate_texts(&self, draft: &mut Draft<'_>, reason: &Reason) {
        self.shorten(draft, reason);
    }
}

impl Emergency {
    /// Takes the first two steps, needed or not.
    pub(crate) fn truncate_and_drop(&self, draft: &mut Draft<'_>) {
        self.shorten_texts(draft);
        self.drop_turns(draft);
    }

    fn shorten_texts(&self, draft: &mut Draft<'_>) {
        self.shorten(draft, &Reason::DoesNotFitTruncated);
    }

    fn shorten(&self, draft: &mut Draft<'_>, reason: &Reason) {
        let counter = *draft.history.counter();
        for at in draft.newest_first().filter(|&at| !draft.is_protected(at)).collect::<Vec<_>>() {
            let shorten = |max: usize| {
                move |text: &str, earlier: Option<&Truncated>| {
                    let truncation = Truncation::new(max * 3 / 5, max * 3 / 10).after(earlier);
                    nth_char(text, max).and_then(|_| truncate(text, &truncation))
                }
            };
            draft.shorten(at, Treatment::Trimmed, reason.clone(), |message| {
                let results = reduce::results(message, &counter, shorten(self.result_chars));
                let texts = reduce::texts(
                    results.as_ref().unwrap_or(message),
                    &counter,
                    shorten(self.user_chars),
                );
                texts.or(results)
            });
        }
    }

    fn drop_turns(&self, draft: &mut Draft<'_>) {
        keep_turns(draft, self.turns, &Reason::DoesNotFitTurns { turns: self.turns });
    }

    /// Drops the oldest atoms until the low mark is reached. If the newest messages do not fit even
    /// alone, they will be truncated, and the turns before them that are short stay.
    fn drop_all_but_newest(&self, draft: &mut Draft<'_>) {
        let room = draft.marks.window.saturating_sub(draft.marks.fixed);
        if draft.protected_tokens() > room {
            drop_turns_over(draft, room * EARLIER_PERCENT / 100);
            return;
        }
        for at in draft.oldest_first() {
            if draft.tokens() <= draft.marks.low {
                return;
            }
            draft.omit(at, Reason::DoesNotFit);
        }
    }

    /// Thinking cannot be truncated, only removed.
    fn drop_thinking(&self, draft: &mut Draft<'_>) {
        for at in draft.newest_first() {
            draft.omit_thinking(at);
        }
    }

    fn drop_systems(&self, draft: &mut Draft<'_>) {
        for at in draft.history.system_prefix()..draft.items().len() {
            draft.omit_system(at, Reason::DoesNotFitSystem);
        }
    }

    fn truncate_pinned(&self, draft: &mut Draft<'_>) {
        let max = draft.marks.available / 20;
        for at in draft.newest_first().filter(|&at| draft.is_pinned_or_held(at)).collect::<Vec<_>>()
        {
            draft.truncate(at, max, Reason::PinnedTruncated);
        }
    }

    /// Truncates the newest step.
    fn truncate_step(&self, draft: &mut Draft<'_>) {
        truncate_protected(draft, false);
    }

    /// Truncates the newest user message, as the last resort.
    fn truncate_user(&self, draft: &mut Draft<'_>) {
        truncate_protected(draft, true);
    }
}

/// Drops the oldest turns until those before the newest messages take at most `room` tokens.
fn drop_turns_over(draft: &mut Draft<'_>, room: usize) {
    for turn in draft.kept_turns() {
        if draft.tokens().saturating_sub(draft.marks.fixed + draft.protected_tokens()) <= room {
            return;
        }
        for at in draft.history.turn_atoms(turn) {
            draft.omit(at, Reason::DoesNotFit);
        }
    }
}

/// Truncates protected atoms until the context fits: user messages or steps.
fn truncate_protected(draft: &mut Draft<'_>, is_user: bool) {
    // If the system prompt alone fills the window, truncating does not help, and the newest message
    // is sent whole (C3.9).
    if draft.marks.available == 0 {
        return;
    }
    let conversation = draft.marks.window.saturating_sub(draft.marks.fixed);
    let goal = draft.marks.fixed + conversation * TARGET_PERCENT / 100;
    let protected = draft.newest_first().filter(|&at| draft.is_protected(at));
    for at in
        protected.filter(|&at| (draft.kind(at) == AtomKind::User) == is_user).collect::<Vec<_>>()
    {
        let over = draft.tokens().saturating_sub(goal);
        if over == 0 {
            return;
        }
        let tokens = draft.item(at).map_or(0, |item| item.tokens);
        draft.warn(
            WarningKind::Budget,
            phrase!(
                "warning-newest-truncated",
                "the newest messages do not fit into the window; they were truncated in the middle"
            ),
        );
        let least = if is_user { MIN_USER_TOKENS } else { MIN_STEP_TOKENS };
        draft.truncate(
            at,
            tokens.saturating_sub(over).max(least + image_tokens(draft, at)),
            Reason::TooLarge,
        );
    }
}

/// Returns the tokens of an atom's images, which cannot be truncated.
fn image_tokens(draft: &Draft<'_>, at: usize) -> usize {
    let history = draft.history;
    let views = draft.views(at);
    let parts =
        views.iter().filter_map(|view| view.message(history)).flat_map(|message| &message.parts);
    parts
        .filter(|part| matches!(part.body, Body::Image(_)))
        .map(|part| history.counter().part(part))
        .sum()
}
