//! `pin`: what stays in front whatever else is folded: the task, and what the user pinned.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::history::AtomKind;
use crate::setting::{Allowed, Key, Size};

pub(super) const SPEC: Spec = Spec {
    name: "pin",
    about: "the task and pinned messages stay",
    keys: &[
        Key::new("task", Allowed::Flag, "keep the first user message"),
        Key::new(
            "max",
            Allowed::Size,
            "a task longer than this loses its middle, unless it is the newest message",
        ),
        Key::new("messages", Allowed::Indices, "messages to keep, by index"),
    ],
    build: build::<Pin>,
};

/// What stays in front.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pin {
    /// Keep the first user message.
    pub task: bool,
    /// A task longer than this loses its middle.
    pub max: Size,
    /// Messages to keep.
    pub messages: Vec<usize>,
}

impl Default for Pin {
    fn default() -> Self {
        Self { task: true, max: Size::percent(100), messages: Vec::new() }
    }
}

impl Stage for Pin {
    fn fold(&self, draft: &mut Draft<'_>) {
        for &message in &self.messages {
            if let Some(at) = draft.history.atom_of(message) {
                draft.pin(at, "pinned");
            }
        }
        let task =
            draft.history.turns().iter().copied().find(|&at| draft.kind(at) == AtomKind::User);
        // A task that is the newest message stays anyway, and behind the note: it is what the model
        // is to answer.
        let newest = draft.newest_first().next();
        let Some(task) = task.filter(|_| self.task).filter(|&task| Some(task) != newest) else {
            return;
        };
        draft.pin(task, "the task");
        let max = draft.room.tokens(self.max);
        if !draft.is_protected(task) {
            draft.clip(task, max, "the task, without its middle");
        }
    }
}
