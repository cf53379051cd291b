//! `fit`: truncates a step that would take most of the window before it is first sent. Without it,
//! such a step forces a fold that drops nearly everything else. The values in the omitted text are
//! listed, so that later steps can still use them.

use std::sync::Arc;

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Arrival, Draft, Item, Stage, Treatment, max_size, shorten_views};
use crate::history::{AtomKind, History, View};
use crate::ledger::{self, Index, Ranking, Shown, Weights};
use crate::message::{Body, Message, Part};
use crate::reason::Reason;
use crate::reduce;
use crate::setting::{Allowed, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "fit",
    about: "truncate a step that takes most of the window before it is first sent",
    keys: &[
        Key::new("over", Allowed::Size, "truncate a step of more tokens than this"),
        Key::new("to", Allowed::Size, "tokens of the truncated step"),
        Key::new(
            "whole",
            Allowed::Size,
            "a larger step, up to this many tokens, stays whole if there is space for it",
        ),
        Key::new(
            "values",
            Allowed::Size,
            "maximum number of these tokens for listing omitted values",
        ),
    ],
    build: build::<Fit>,
};

/// The limit for one step.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fit {
    /// A step of more tokens than this is truncated.
    pub over: Size,
    /// The tokens of the truncated step.
    pub to: Size,
    /// A larger step, up to this many tokens, stays whole if there is space for it.
    pub whole: Size,
    /// Maximum number of these tokens for listing omitted values.
    pub values: Size,
}

impl Default for Fit {
    fn default() -> Self {
        Self {
            over: Size::percent(60),
            to: Size::percent(30),
            whole: Size::Tokens(0),
            values: Size::percent(8),
        }
    }
}

/// A step may use the free space up to this percentage of the window, so that the next answer does
/// not force a fold.
const LEAVE_PERCENT: usize = 10;

/// The tokens of a text or a call are never fewer than this, however small the window is.
const MIN_TOKENS: usize = 64;

impl Stage for Fit {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn arrive(&self, item: &mut Item, arrival: &Arrival<'_>) {
        let Arrival { history, marks, weights, .. } = *arrival;
        let space = self.space(arrival);
        let is_step = history.atom(item.atom).is_some_and(|atom| atom.kind == AtomKind::Exchange);
        // If the system prompt alone fills the window, truncating does not help.
        if !is_step || marks.available == 0 || item.tokens <= marks.tokens(self.over).max(space) {
            return;
        }
        let values = marks.tokens(self.values);
        let to = marks.tokens(self.to).max(space);
        let target = to.saturating_sub(values).max(MIN_TOKENS);
        let views = item.views(history);
        let sizes: Vec<usize> = views.iter().map(|view| view.tokens(history)).collect();
        let max = max_size(&sizes, target);
        let truncate =
            |message: &Message| reduce::truncate_message(message, history.counter(), max);
        if let Some(mut views) = shorten_views(history, views, truncate) {
            add_values(history, weights, item.atom, &mut views, values);
            item.replace(history, Treatment::Trimmed, views, Reason::MostOfWindow);
        }
    }

    /// A fold starts with the newest step as it will be sent, so that the other stages know how
    /// much space it leaves.
    fn fold(&self, draft: &mut Draft<'_>) {
        if let Some(at) = draft.newest_first().next() {
            draft.arrive(at);
        }
    }
}

impl Fit {
    /// Returns how many tokens a step may take although it is larger than the limit.
    fn space(&self, arrival: &Arrival<'_>) -> usize {
        let leave = arrival.marks.available * LEAVE_PERCENT / 100;
        arrival.headroom.saturating_sub(leave).min(arrival.marks.tokens(self.whole))
    }
}

/// Adds a list of the values that the truncated step no longer shows to its last truncated result.
/// They are ranked by what the step itself says about them, so that the list does not depend on how
/// much of the history is loaded.
fn add_values(
    history: &History,
    weights: &Weights,
    atom: usize,
    views: &mut [View],
    budget: usize,
) {
    let mut index = Index::default();
    history.atom_messages(atom).enumerate().for_each(|(at, message)| index.append(at, message));
    let texts: Vec<String> =
        views.iter().filter_map(|view| view.message(history).map(ledger::text_of)).collect();
    let mut shown = Shown::default();
    texts.iter().for_each(|text| shown.add(text));
    let ranking = Ranking::new(&index, weights, |_, _| true);
    let list = ranking.list(history.counter(), budget, &shown).text;
    let truncated = views.iter_mut().rev().find_map(|view| match view {
        View::Made(message) => {
            Arc::make_mut(message).parts.iter_mut().rev().find_map(truncated_result)
        }
        View::Source(_) => None,
    });
    if let Some(parts) = truncated.filter(|_| !list.is_empty()) {
        parts.push(Part::text(format!("[values in the omitted text, verbatim]\n{list}")));
    }
}

/// Returns the parts of a result of which something was omitted.
fn truncated_result(part: &mut Part) -> Option<&mut Vec<Part>> {
    match &mut part.body {
        Body::Result(result) if result.parts.iter().any(|part| part.truncated.is_some()) => {
            Some(&mut result.parts)
        }
        _ => None,
    }
}
