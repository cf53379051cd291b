//! `halve`: the oldest half of the turns goes when there are too many turns or tokens; with few
//! turns left, earlier ones are reduced to request and answer instead.

use serde::Deserialize;

use super::digest::to_request_and_answer;
use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::setting::{Allowed, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "halve",
    about: "drop the oldest half of the turns when there are too many turns or tokens",
    keys: &[
        Key::new("turns", Allowed::Whole(1, 10_000), "more turns than this are halved"),
        Key::new("tokens", Allowed::Size, "more tokens than this: halved again, until it fits"),
        Key::new(
            "few",
            Allowed::Whole(1, 100),
            "with fewer turns than this, earlier ones keep only request and answer",
        ),
    ],
    build: build::<Halve>,
};

/// Drops the oldest half of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Halve {
    /// More turns than this are halved.
    pub turns: usize,
    /// More tokens than this: halved again.
    pub tokens: Size,
    /// With fewer turns than this, earlier ones keep only request and answer.
    pub few: usize,
}

impl Default for Halve {
    fn default() -> Self {
        Self { turns: 20, tokens: Size::percent(100), few: 5 }
    }
}

impl Stage for Halve {
    fn fold(&self, draft: &mut Draft<'_>) {
        // What an earlier fold dropped is not counted again.
        for at in draft.hidden.clone() {
            draft.drop(at, "the oldest half of the turns was dropped");
        }
        while draft.kept_turns().len() > self.turns && drop_oldest_half(draft) {}
        let limit = draft.room.mark(self.tokens).min(draft.room.window);
        while draft.total() > limit {
            let turns = draft.kept_turns();
            if turns.len() < self.few {
                // The running turn is exempt (C2.3): its steps are still being worked with.
                for &turn in turns.iter().rev().skip(1) {
                    to_request_and_answer(draft, turn);
                }
                return;
            }
            if !drop_oldest_half(draft) {
                return;
            }
        }
    }
}

/// Drops the older half of the turns, whole; the running one stays. Says whether anything went.
fn drop_oldest_half(draft: &mut Draft<'_>) -> bool {
    let turns = draft.kept_turns();
    let mut dropped = false;
    // What stands before the first turn (an assistant's greeting) goes with it.
    let first_kept =
        turns.get(turns.len() / 2).map_or(0, |&turn| draft.history.turn_atoms(turn).start);
    for at in 0..first_kept {
        dropped |= draft.drop(at, "the oldest half of the turns was dropped");
    }
    dropped
}
