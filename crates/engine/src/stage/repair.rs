//! `repair`: handles calls without a result. Every context answers them as interrupted; this stage
//! can drop them instead. The newest step is never dropped, because its results may still arrive.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Arrival, Item, Stage, Treatment};
use crate::history::{AtomKind, View};
use crate::message::{Body, Form, Message};
use crate::reason::Reason;
use crate::setting::{Allowed, Key};

pub(super) const SPEC: Spec = Spec {
    name: "repair",
    about: "answer calls without a result as interrupted, or drop them",
    keys: &[Key::new(
        "mode",
        Allowed::OneOf(&["answer", "drop"]),
        "answer them as interrupted, or drop the step",
    )],
    build: build::<Repair>,
};

/// What to do with calls that have no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Repair {
    /// Answer them or drop them.
    pub mode: RepairMode,
}

/// What to do with calls that have no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RepairMode {
    /// Answer them as interrupted.
    #[default]
    Answer,
    /// Drop the step. Text that the assistant wrote with the call stays.
    Drop,
}

impl Stage for Repair {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn arrive(&self, item: &mut Item, arrival: &Arrival<'_>) {
        let history = arrival.history;
        let mut later = history.atoms().iter().skip(item.atom + 1);
        let is_newest = !later.any(|atom| atom.is_sendable() && atom.kind != AtomKind::System);
        let Some(atom) = history.atom(item.atom).filter(|atom| !atom.open.is_empty() && !is_newest)
        else {
            return;
        };
        // A step is answered if the user wrote something while its tools ran.
        let has_user_text =
            history.atom_messages(item.atom).any(|m| m.results().next().is_some() && m.has_text());
        if self.mode == RepairMode::Answer || atom.kind != AtomKind::Exchange || has_user_text {
            return;
        }
        let texts: Vec<View> =
            history.atom_messages(item.atom).filter_map(text_only).map(View::made).collect();
        let reason = Reason::NoResult;
        if texts.is_empty() {
            item.omit(reason);
        } else {
            item.replace(history, Treatment::Trimmed, texts, reason);
        }
    }
}

fn text_only(message: &Message) -> Option<Message> {
    let mut text = message.clone();
    text.parts.retain(|part| matches!(part.body, Body::Text(_)));
    text.form = Form::Changed;
    (!text.parts.is_empty()).then_some(text)
}
