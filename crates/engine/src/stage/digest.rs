//! `digest`: earlier turns are reduced to what the user asked and what was answered; tool calls and
//! results go.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::{AtomKind, View};
use crate::message::{Body, Form, Role};
use crate::setting::{Allowed, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "digest",
    about: "earlier turns keep the user's words and the final answer",
    keys: &[
        Key::new("keep_turns", Allowed::Whole(1, 1_000), "turns that stay whole"),
        Key::new("over", Allowed::Size, "only when the context has more tokens than this"),
    ],
    build: build::<Digest>,
};

/// Reduces earlier turns to request and answer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Digest {
    /// Turns that stay whole.
    pub keep_turns: usize,
    /// Only when the context has more tokens than this.
    pub over: Size,
}

impl Default for Digest {
    fn default() -> Self {
        Self { keep_turns: 1, over: Size::Tokens(0) }
    }
}

impl Stage for Digest {
    fn fold(&self, draft: &mut Draft<'_>) {
        if draft.total() <= draft.room.mark(self.over) {
            return;
        }
        let turns = draft.kept_turns();
        let past = turns.len().saturating_sub(self.keep_turns);
        for &turn in turns.iter().take(past) {
            to_request_and_answer(draft, turn);
        }
    }
}

/// Reduces a turn to the user's words and the last thing the assistant said.
pub(super) fn to_request_and_answer(draft: &mut Draft<'_>, turn: usize) {
    let atoms = draft.history.turn_atoms(turn);
    let answer = atoms.clone().rev().find(|&at| draft.is_kept(at) && answers(draft, at));
    for at in atoms {
        match draft.kind(at) {
            AtomKind::User => {}
            _ if Some(at) == answer || user_speaks(draft, at) => keep_words(draft, at),
            _ => {
                draft.drop(at, "work of an earlier turn; its request and answer stay");
            }
        }
    }
}

/// Whether the user spoke while the tools of this step ran.
fn user_speaks(draft: &Draft<'_>, at: usize) -> bool {
    draft
        .history
        .atom_messages(at)
        .any(|message| message.role != Role::Assistant && message.has_text())
}

fn answers(draft: &Draft<'_>, at: usize) -> bool {
    draft
        .history
        .atom_messages(at)
        .any(|message| message.role == Role::Assistant && message.has_text())
}

/// An answer that came with calls is sent without them.
fn keep_words(draft: &mut Draft<'_>, at: usize) {
    if draft.kind(at) == AtomKind::Exchange {
        let words =
            draft.history.atom_messages(at).filter(|message| message.has_text()).map(|message| {
                let mut words = message.clone();
                words.form = Form::Changed;
                words.parts.retain(|part| matches!(part.body, Body::Text(_)));
                if words.role == Role::Tool {
                    words.role = Role::User;
                }
                View::made(words)
            });
        let words: Vec<View> = words.collect();
        draft.replace(
            at,
            Treatment::Trimmed,
            words,
            "the last words of an earlier turn, without its calls",
        );
    }
}
