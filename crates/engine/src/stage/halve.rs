//! `halve`: drops the oldest half of the turns if there are too many turns or tokens. If only a few
//! turns are left, the earlier ones are reduced to request and answer instead. A running turn that
//! is too long alone loses its long texts and then its older steps.

use serde::Deserialize;

use super::request_and_answer::to_request_and_answer;
use super::{Spec, build};
use crate::draft::{CountLimit, Draft, Stage};
use crate::history::AtomKind;
use crate::reason::Reason;
use crate::setting::{Allowed, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "halve",
    about: "drop the oldest half of the turns if there are too many turns or tokens",
    keys: &[
        Key::new("turns", Allowed::Whole(1, 10_000), "halve if there are more turns than this"),
        Key::new("tokens", Allowed::Size, "halve again while there are more tokens than this"),
        Key::new(
            "few",
            Allowed::Whole(1, 100),
            "with fewer turns than this, reduce earlier ones to request and answer instead",
        ),
    ],
    build: build::<Halve>,
};

/// Drops the oldest half of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Halve {
    /// Halve if there are more turns than this.
    pub turns: usize,
    /// Halve again while there are more tokens than this.
    pub tokens: Size,
    /// With fewer turns than this, reduce earlier ones to request and answer instead.
    pub few: usize,
}

impl Default for Halve {
    fn default() -> Self {
        Self { turns: 20, tokens: Size::percent(100), few: 5 }
    }
}

impl Stage for Halve {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        // Turns that an earlier fold dropped do not count.
        draft.omit_unsent_before(Reason::OldestHalf);
        while draft.kept_turns().len() > self.turns && drop_oldest_half(draft) {}
        let limit = draft.marks.mark(self.tokens).min(draft.marks.window);
        while draft.projected_with_summary() > limit {
            let turns = draft.kept_turns();
            if turns.len() < self.few {
                // The running turn is exempt (C2.3): the model still needs its steps.
                for &turn in turns.iter().rev().skip(1) {
                    to_request_and_answer(draft, turn);
                }
                break;
            }
            // If the newest messages are over the limit alone, dropping all turns would not help.
            let is_hopeless = draft.marks.fixed + draft.protected_tokens() > limit;
            if !drop_oldest_half(draft) || is_hopeless {
                break;
            }
        }
        // The running turn alone is too long: its long texts are truncated, then older steps go
        // (C2.4). Texts that are truncated already free little the next time.
        if draft.projected_with_summary() > limit {
            let is_own_limit = limit < draft.marks.window;
            draft.truncate_texts(&match self.tokens {
                Size::Tokens(tokens) if is_own_limit => Reason::OverLimitTruncated { tokens },
                _ => Reason::DoesNotFitTruncated,
            });
        }
        let goal = match draft.unfolded() > limit {
            true => limit.min(draft.unfolded() - draft.share_of_conversation(LEAST_FREED)),
            false => limit,
        };
        while draft.projected_with_summary() > goal && drop_older_steps(draft) {}
        truncate_newest_step(draft, limit);
    }

    fn limit(&self, _summarizes: bool) -> Option<CountLimit> {
        Some(CountLimit::Turns(self.turns))
    }
}

/// The newest step keeps at least this many tokens. Less would help neither the model nor the
/// limit: then something else takes the space, such as the request, which stays whole.
const MIN_STEP_TOKENS: usize = 2_500;

/// A fold inside a turn frees at least this share, or the next step would require another one.
const LEAST_FREED: Size = Size::percent(10);

/// Truncates the newest step if the context is still over the limit. It has the results that the
/// model is about to read, so it loses no more than necessary.
fn truncate_newest_step(draft: &mut Draft<'_>, limit: usize) {
    let over = draft.projected_with_summary().saturating_sub(limit);
    let newest = draft.newest_first().next();
    let Some(at) = newest.filter(|&at| over > 0 && draft.kind(at) == AtomKind::Exchange) else {
        return;
    };
    let tokens = draft.item(at).map_or(0, |item| item.tokens);
    let target = tokens.saturating_sub(over).max(MIN_STEP_TOKENS);
    draft.truncate(at, target, Reason::PartOfStep);
}

/// Drops the older half of the steps of the running turn. Returns whether it dropped anything.
fn drop_older_steps(draft: &mut Draft<'_>) -> bool {
    let running = draft.running_turn_start();
    let steps: Vec<usize> = draft.kept_steps().into_iter().filter(|&at| at >= running).collect();
    let Some(&first_kept) = steps.get(steps.len() / 2) else { return false };
    let mut dropped = false;
    for at in running..first_kept {
        dropped |= draft.omit(at, Reason::RunningTurn);
    }
    dropped
}

/// Drops the older half of the turns; the running turn stays. Returns whether it dropped anything.
fn drop_oldest_half(draft: &mut Draft<'_>) -> bool {
    let turns = draft.kept_turns();
    let mut dropped = false;
    // Messages before the first turn (an assistant's greeting) are dropped with it.
    let first_kept =
        turns.get(turns.len() / 2).map_or(0, |&turn| draft.history.turn_atoms(turn).start);
    for at in 0..first_kept {
        dropped |= draft.omit(at, Reason::OldestHalf);
    }
    dropped
}
