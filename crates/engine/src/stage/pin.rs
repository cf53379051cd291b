//! `pin`: keeps the task and pinned messages at the front, whatever else is folded.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage};
use crate::history::AtomKind;
use crate::reason::Reason;
use crate::setting::{Allowed, Key, Size};
use crate::summary;

pub(super) const SPEC: Spec = Spec {
    name: "pin",
    about: "keep the task and pinned messages",
    keys: &[
        Key::new("task", Allowed::Flag, "keep the first user message"),
        Key::new(
            "max",
            Allowed::Size,
            "truncate a task longer than this in the middle, unless it is the newest message",
        ),
        Key::new(
            "messages",
            Allowed::Indices,
            "numbers of the messages to keep, from 1 without the system prompt",
        ),
    ],
    build: build::<Pin>,
};

/// What is kept at the front.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pin {
    /// Keep the first user message.
    pub task: bool,
    /// Truncate a task longer than this in the middle.
    pub max: Size,
    /// The numbers of the messages to keep, from 1 without the system prompt.
    pub messages: Vec<usize>,
}

impl Default for Pin {
    fn default() -> Self {
        Self { task: true, max: Size::percent(100), messages: Vec::new() }
    }
}

impl Stage for Pin {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        for &message in &self.messages {
            let index = draft.history.index_of(message);
            if let Some(at) = index.and_then(|index| draft.history.atom_of(index)) {
                draft.pin(at, Reason::Pinned);
            }
        }
        let task = task_of(draft);
        // A task that is the newest message stays anyway. It is not pinned, because it must come
        // after the summary block: the model is about to answer it.
        let newest = draft.newest_first().next();
        let Some(task) = task.filter(|_| self.task).filter(|&task| Some(task) != newest) else {
            return;
        };
        draft.pin(task, Reason::Task);
        let max = draft.marks.tokens(self.max);
        if !draft.is_protected(task) {
            draft.truncate(task, max, Reason::TaskTruncated);
        }
    }
}

/// Returns the first user message that is a request. Some programs put messages about the
/// environment in front of it, which are nothing but an element such as `<environment_context>`.
fn task_of(draft: &Draft<'_>) -> Option<usize> {
    let turns = draft.history.turns().iter().copied();
    let users: Vec<usize> = turns.filter(|&atom| draft.kind(atom) == AtomKind::User).collect();
    let first = *users.first()?;
    let is_answer = |kind| matches!(kind, AtomKind::Reply | AtomKind::Exchange | AtomKind::Thought);
    let is_unanswered = |atom: &usize| !(first..*atom).any(|before| is_answer(draft.kind(before)));
    let is_request = |atom: &usize| {
        let mut messages = draft.history.atom_messages(*atom);
        messages.any(|message| !summary::is_only_elements(&message.text()))
    };
    users.into_iter().take_while(is_unanswered).find(is_request).or(Some(first))
}
