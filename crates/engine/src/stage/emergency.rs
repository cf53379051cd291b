//! `emergency`: the ladder for a context that is still too large when every other stage is done.
//! Each rung costs more than the one before; the newest user message survives them all. It is part
//! of every policy, named or not.

use serde::Deserialize;

use super::window::keep_turns;
use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::AtomKind;
use crate::message::{Body, Truncated};
use crate::reduce;
use crate::setting::{Allowed, Key};
use crate::truncate::{Cut, nth_char, truncate};
use crate::warning::Oddity;

pub(super) const SPEC: Spec = Spec {
    name: "emergency",
    about: "what to do when nothing else brings the context into the window",
    keys: &[
        Key::new("result_chars", Allowed::Whole(100, 1_000_000), "tool results are cut to this"),
        Key::new("user_chars", Allowed::Whole(100, 1_000_000), "other texts are cut to this"),
        Key::new("turns", Allowed::Whole(1, 1_000), "and only so many turns stay"),
    ],
    build: build::<Emergency>,
};

/// The ladder's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Emergency {
    /// Tool results are cut to this.
    pub result_chars: usize,
    /// Other texts are cut to this.
    pub user_chars: usize,
    /// Only so many turns stay.
    pub turns: usize,
}

impl Default for Emergency {
    fn default() -> Self {
        Self { result_chars: 10_000, user_chars: 10_000, turns: 5 }
    }
}

/// When something must be clipped, the context comes down to this share of the window, so that the
/// next message does not overflow it at once.
const ROOMY: usize = 75;

/// What is left of a step at the least, and of the user's newest words: a window that does not even
/// hold these beside the system prompt is too small, and no cut makes up for that.
const LEAST: usize = 64;
const LEAST_OF_USER: usize = 400;

impl Stage for Emergency {
    fn rescue(&self, draft: &mut Draft<'_>) -> bool {
        let rungs: [fn(&Self, &mut Draft<'_>); 8] = [
            Self::cut_texts,
            Self::drop_turns,
            Self::drop_all_but_newest,
            Self::drop_thinking,
            Self::clip_pinned,
            Self::clip_step,
            Self::drop_systems,
            Self::clip_words,
        ];
        for rung in rungs {
            if draft.total() <= draft.marks.window {
                return true;
            }
            rung(self, draft);
        }
        true
    }

    fn trim(&self, draft: &mut Draft<'_>) -> bool {
        self.trim_now(draft);
        true
    }
}

impl Emergency {
    /// The first rungs, needed or not.
    pub(crate) fn trim_now(&self, draft: &mut Draft<'_>) {
        self.cut_texts(draft);
        self.drop_turns(draft);
    }

    fn cut_texts(&self, draft: &mut Draft<'_>) {
        let counter = *draft.history.counter();
        for at in draft.newest_first().filter(|&at| !draft.is_protected(at)).collect::<Vec<_>>() {
            let cut = |max: usize| {
                move |text: &str, earlier: Option<&Truncated>| {
                    let cut = Cut::new(max * 3 / 5, max * 3 / 10).after(earlier);
                    nth_char(text, max).and_then(|_| truncate(text, &cut))
                }
            };
            draft.reduce(at, Treatment::Trimmed, "cut, because the window overflows", |message| {
                let results = reduce::results(message, &counter, cut(self.result_chars));
                let words = reduce::words(
                    results.as_ref().unwrap_or(message),
                    &counter,
                    cut(self.user_chars),
                );
                words.or(results)
            });
        }
    }

    fn drop_turns(&self, draft: &mut Draft<'_>) {
        keep_turns(
            draft,
            self.turns,
            &format!("the window overflows: only the last {} turns stay", self.turns),
        );
    }

    /// Oldest first, down to the low mark.
    fn drop_all_but_newest(&self, draft: &mut Draft<'_>) {
        let oldest_first: Vec<usize> =
            draft.newest_first().collect::<Vec<_>>().into_iter().rev().collect();
        for at in oldest_first {
            if draft.total() <= draft.marks.low {
                return;
            }
            draft.drop(at, "the window overflows");
        }
    }

    /// Thinking cannot be shortened, only left out.
    fn drop_thinking(&self, draft: &mut Draft<'_>) {
        for at in draft.newest_first() {
            draft.drop_thinking(at);
        }
    }

    fn drop_systems(&self, draft: &mut Draft<'_>) {
        for at in draft.history.lead()..draft.items().len() {
            draft.drop_system(at, "the window overflows; the system prompt in front stays");
        }
    }

    fn clip_pinned(&self, draft: &mut Draft<'_>) {
        let max = draft.marks.available / 20;
        for at in draft.newest_first().filter(|&at| !draft.is_protected(at)).collect::<Vec<_>>() {
            draft.clip(at, max, "pinned, but cut: the window overflows");
        }
    }

    /// The newest step.
    fn clip_step(&self, draft: &mut Draft<'_>) {
        clip_protected(draft, false);
    }

    /// The user's newest words come last.
    fn clip_words(&self, draft: &mut Draft<'_>) {
        clip_protected(draft, true);
    }
}

/// Cuts what must stay, so far that it fits; a step, or the user's words.
fn clip_protected(draft: &mut Draft<'_>, words: bool) {
    // Where the system prompt alone fills the window no cut helps: then the newest message is sent
    // whole (C3.9).
    if draft.marks.available == 0 {
        return;
    }
    let goal = draft.marks.fixed + draft.marks.window.saturating_sub(draft.marks.fixed) * ROOMY / 100;
    let protected = draft.newest_first().filter(|&at| draft.is_protected(at));
    for at in
        protected.filter(|&at| (draft.kind(at) == AtomKind::User) == words).collect::<Vec<_>>()
    {
        let over = draft.total().saturating_sub(goal);
        if over == 0 {
            return;
        }
        let mine = draft.item(at).map_or(0, |item| item.tokens);
        draft.warn(
            Oddity::Budget,
            "the newest messages do not fit into the window; their middle was left out",
        );
        let least = if words { LEAST_OF_USER } else { LEAST };
        let least = least + pictures(draft, at);
        draft.clip(
            at,
            mine.saturating_sub(over).max(least),
            "larger than the window: it lost its middle",
        );
    }
}

/// The tokens of an atom's pictures, which no cut makes smaller.
fn pictures(draft: &Draft<'_>, at: usize) -> usize {
    let history = draft.history;
    let views = draft.views(at);
    let parts =
        views.iter().filter_map(|view| view.message(history)).flat_map(|message| &message.parts);
    parts
        .filter(|part| matches!(part.body, Body::Image(_)))
        .map(|part| history.counter().part(part))
        .sum()
}
