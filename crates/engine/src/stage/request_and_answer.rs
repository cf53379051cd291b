//! `answers`: reduces earlier turns to the user's request and the final answer, without tool calls
//! and results.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::{AtomKind, View};
use crate::message::{Body, Form, Role};
use crate::reason::Reason;
use crate::setting::{Allowed, Key, Size, Threshold};

pub(super) const SPEC: Spec = Spec {
    name: "answers",
    about: "reduce earlier turns to the user's request and the final answer",
    keys: &[
        Key::new(
            "keep_turns",
            Allowed::Whole(1, 1_000),
            "number of newest turns that stay whole; with window.steps, that many steps and the \
             running turn stay whole instead",
        ),
        Key::new("over", Allowed::Threshold, "only if the context has more tokens than this"),
        Key::new(
            "free",
            Allowed::Size,
            "only if this frees at least this much of a context above the high mark",
        ),
    ],
    build: build::<RequestAndAnswer>,
};

/// Reduces earlier turns to request and answer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RequestAndAnswer {
    /// The number of newest turns that stay whole, unless the policy keeps a number of steps.
    pub keep_turns: usize,
    /// Only if the context has more tokens than this.
    pub over: Threshold,
    /// Only if this frees at least this much of a context above the high mark. Otherwise the stages
    /// that follow reduce it.
    pub free: Size,
}

impl Default for RequestAndAnswer {
    fn default() -> Self {
        Self { keep_turns: 1, over: Threshold::default(), free: Size::Tokens(0) }
    }
}

impl Stage for RequestAndAnswer {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        if !draft.is_over(self.over) {
            return;
        }
        let unfolded = draft.unfolded();
        let goal = match self.free.is_zero() || unfolded <= draft.marks.high {
            true => usize::MAX,
            false => unfolded - draft.share_of_conversation(self.free),
        };
        draft.attempt(goal, |draft| self.reduce_earlier(draft));
    }
}

impl RequestAndAnswer {
    fn reduce_earlier(&self, draft: &mut Draft<'_>) {
        if let Some(steps) = draft.steps_to_keep() {
            reduce_before_steps(draft, steps);
            return;
        }
        let turns = draft.kept_turns();
        let past = turns.len().saturating_sub(self.keep_turns);
        for &turn in turns.iter().take(past) {
            to_request_and_answer(draft, turn);
        }
    }
}

/// Reduces what lies before the last `steps` steps to requests and answers. A turn without an
/// answer stays: nothing else says what came of its steps. So does the running turn.
fn reduce_before_steps(draft: &mut Draft<'_>, steps: usize) {
    draft.omit_unsent_before(Reason::EarlierFold);
    let kept = draft.kept_steps();
    let Some(&whole_from) = kept.get(kept.len().saturating_sub(steps)) else { return };
    for turn in draft.kept_turns().into_iter().rev().skip(1) {
        if answer_of(draft, turn).is_some() {
            reduce_turn(draft, turn, whole_from);
        }
    }
}

/// Reduces a turn to the text of the user and the last answer of the assistant.
pub(crate) fn to_request_and_answer(draft: &mut Draft<'_>, turn: usize) {
    reduce_turn(draft, turn, usize::MAX);
}

fn answer_of(draft: &Draft<'_>, turn: usize) -> Option<usize> {
    draft.history.turn_atoms(turn).rev().find(|&at| draft.is_kept(at) && answers(draft, at))
}

/// Reduces the atoms of a turn that lie before `end`.
fn reduce_turn(draft: &mut Draft<'_>, turn: usize, end: usize) {
    let answer = answer_of(draft, turn);
    for at in draft.history.turn_atoms(turn).filter(|&at| at < end) {
        match draft.kind(at) {
            AtomKind::User => {}
            _ if Some(at) == answer || has_user_text(draft, at) => keep_text(draft, at),
            _ => {
                draft.omit(at, Reason::StepOfTurn);
            }
        }
    }
}

/// Returns whether the user wrote something while the tools of this step ran.
fn has_user_text(draft: &Draft<'_>, at: usize) -> bool {
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

/// Reduces a step to its text, without calls and results.
fn keep_text(draft: &mut Draft<'_>, at: usize) {
    if draft.kind(at) == AtomKind::Exchange {
        let with_text = draft.history.atom_messages(at).filter(|message| message.has_text());
        let texts = with_text.map(|message| {
            let mut text = message.clone();
            text.form = Form::Changed;
            text.parts.retain(|part| matches!(part.body, Body::Text(_)));
            if text.role == Role::Tool {
                text.role = Role::User;
            }
            View::made(text)
        });
        let texts: Vec<View> = texts.collect();
        draft.replace(at, Treatment::Trimmed, texts, Reason::TextOfStep);
    }
}
