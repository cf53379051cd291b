//! `repair`: what becomes of calls that no result answers. Answering them as interrupted is what
//! every context does; this stage can drop them instead. The newest step is always answered: its
//! results may still be on their way.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Arrival, Item, Stage, Treatment};
use crate::history::{AtomKind, View};
use crate::message::{Body, Form, Message};
use crate::setting::{Allowed, Key};

pub(super) const SPEC: Spec = Spec {
    name: "repair",
    about: "calls without a result: answered as interrupted, or dropped",
    keys: &[Key::new(
        "mode",
        Allowed::OneOf(&["answer", "drop"]),
        "answer them as interrupted, or drop the step",
    )],
    build: build::<Repair>,
};

/// What becomes of calls that no result answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Repair {
    /// Answer or drop.
    pub mode: RepairMode,
}

/// Answer or drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairMode {
    /// Answer as interrupted.
    #[default]
    Answer,
    /// Drop the step; words the assistant said with the call stay.
    Drop,
}

impl Stage for Repair {
    fn arrive(&self, item: &mut Item, arrival: &Arrival<'_>) {
        let history = arrival.history;
        let mut later = history.atoms().iter().skip(item.atom + 1);
        let is_newest = !later.any(|atom| atom.is_sendable() && atom.kind != AtomKind::System);
        let Some(atom) = history.atom(item.atom).filter(|atom| !atom.open.is_empty() && !is_newest)
        else {
            return;
        };
        // A user's words may stand among the results: then the step is answered, not dropped.
        let user_speaks =
            history.atom_messages(item.atom).any(|m| m.results().next().is_some() && m.has_text());
        if self.mode == RepairMode::Answer || atom.kind != AtomKind::Exchange || user_speaks {
            return;
        }
        let words: Vec<View> =
            history.atom_messages(item.atom).filter_map(words_only).map(View::made).collect();
        let reason = "a call in it was never answered";
        if words.is_empty() {
            item.omit(reason);
        } else {
            item.replace(history, Treatment::Trimmed, words, reason);
        }
    }
}

fn words_only(message: &Message) -> Option<Message> {
    let mut words = message.clone();
    words.parts.retain(|part| matches!(part.body, Body::Text(_)));
    words.form = Form::Changed;
    (!words.parts.is_empty()).then_some(words)
}
