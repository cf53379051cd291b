//! `halve`: drops the oldest half of the turns if there are too many turns or tokens. If only a few
//! turns are left, the earlier ones are reduced to request and answer instead. A running turn that
//! is too long alone loses its long texts and then its older steps.

use serde::Deserialize;

use super::request_and_answer::to_request_and_answer;
use super::{Spec, build};
use crate::draft::{Draft, Stage};
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
        draft.drop_hidden(Reason::OldestHalf);
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
            if !drop_oldest_half(draft) {
                break;
            }
        }
        // The running turn alone is too long: its long texts are truncated, then older steps go
        // (C2.4).
        if draft.projected_with_summary() > limit {
            draft.truncate_texts();
        }
        while draft.projected_with_summary() > limit && drop_older_steps(draft) {}
    }
}

/// Drops the older half of the steps of the running turn. Returns whether it dropped anything.
fn drop_older_steps(draft: &mut Draft<'_>) -> bool {
    let running = draft.running();
    let steps: Vec<usize> = draft.kept_steps().into_iter().filter(|&at| at >= running).collect();
    let Some(&first_kept) = steps.get(steps.len() / 2) else { return false };
    let mut dropped = false;
    for at in running..first_kept {
        dropped |= draft.drop(at, Reason::RunningTurn);
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
        dropped |= draft.drop(at, Reason::OldestHalf);
    }
    dropped
}
