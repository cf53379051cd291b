//! Atoms as they are sent: their messages, and a result for every call that has none.

use std::sync::Arc;

use super::{Atom, History, OpenCall};
use crate::message::{Body, Form, Message, Part, Role};

/// The result of a call that has none.
const INTERRUPTED: &str = "[interrupted: no result was recorded for this call]";

/// A message of a context: one of the history, or one made for the context.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum View {
    /// The message at this index, as [`History::message`] returns it.
    Source(usize),
    /// A message that was reduced, merged or made for the context.
    Made(Arc<Message>),
}

impl View {
    /// Creates a view of a message made for the context.
    #[must_use]
    pub fn made(message: Message) -> Self {
        Self::Made(Arc::new(message))
    }

    /// Returns what is sent: a message of the history, or one that was made from it.
    #[must_use]
    pub fn message<'a>(&'a self, history: &'a History) -> Option<&'a Message> {
        match self {
            Self::Source(index) => history.message(*index),
            Self::Made(message) => Some(message),
        }
    }

    /// Returns the tokens of the message.
    #[must_use]
    pub fn tokens(&self, history: &History) -> usize {
        match self {
            Self::Source(index) => history.message_tokens(*index),
            Self::Made(message) => history.counter().message(message),
        }
    }
}

impl History {
    /// Returns the messages of an atom as they are sent, without those among the first `from`
    /// messages: they were already sent, with a result for each of their calls.
    #[must_use]
    pub fn views(&self, atom: usize, from: usize) -> Vec<View> {
        let Some(atom) = self.atom(atom) else { return Vec::new() };
        let sent_before = atom.messages.iter().any(|&index| index < from);
        let mut views = if sent_before {
            self.rest_of(atom, from)
        } else {
            atom.messages.iter().map(|&index| View::Source(index)).collect()
        };
        self.drop_dangling_thought(&mut views);
        views.extend(
            atom.open.iter().filter(|call| call.message >= from).map(|call| self.answer(call)),
        );
        self.text_last(views)
    }

    /// Removes thinking that is not followed by an answer or a call.
    fn drop_dangling_thought(&self, views: &mut Vec<View>) {
        let is_assistant =
            |view: &View| view.message(self).is_some_and(|message| message.role == Role::Assistant);
        let only_thinks = |view: &View| view.message(self).is_some_and(Message::only_thinks);
        while let Some(last) = views
            .iter()
            .rposition(is_assistant)
            .filter(|&at| views.get(at).is_some_and(only_thinks))
        {
            views.remove(last);
        }
    }

    /// Moves text and images between two results after the last one: no wire accepts them in
    /// between.
    fn text_last(&self, views: Vec<View>) -> Vec<View> {
        let is_other = |part: &Part| !matches!(part.body, Body::Result(_));
        let has_other = |view: &View| {
            view.message(self)
                .is_some_and(|m| m.role != Role::Assistant && m.parts.iter().any(is_other))
        };
        if !views.iter().rev().skip(1).any(has_other) {
            return views;
        }
        let mut ordered = Vec::new();
        let mut others = Vec::new();
        for view in views {
            let Some(message) = view.message(self).filter(|_| has_other(&view)) else {
                ordered.push(view);
                continue;
            };
            let (results, rest): (Vec<_>, Vec<_>) = message
                .parts
                .iter()
                .cloned()
                .partition(|part| matches!(part.body, Body::Result(_)));
            if !results.is_empty() {
                ordered.push(View::made(Message::new(Role::Tool, results)));
            }
            others.extend(rest);
        }
        ordered.push(View::made(Message::new(Role::User, others)));
        ordered
    }

    /// Returns what joined an atom after it was sent: new calls and their results. A result for a
    /// call that was already answered as interrupted is too late and left out.
    fn rest_of(&self, atom: &Atom, from: usize) -> Vec<View> {
        let answered: Vec<&str> = atom
            .messages
            .iter()
            .filter(|&&index| index < from)
            .filter_map(|&index| self.message(index))
            .flat_map(|message| message.calls().map(|call| call.id.as_str()))
            .collect();
        let rest = atom.messages.iter().filter(|&&index| index >= from);
        rest.filter_map(|&index| {
            let message = self.message(index)?;
            if !message.results().any(|result| answered.contains(&result.call_id.as_str())) {
                return Some(View::Source(index));
            }
            let mut remaining = message.clone();
            remaining.form = Form::Changed;
            remaining.parts.retain(|part| match &part.body {
                Body::Result(result) => !answered.contains(&result.call_id.as_str()),
                _ => true,
            });
            (!remaining.parts.is_empty()).then(|| View::made(remaining))
        })
        .collect()
    }

    fn answer(&self, call: &OpenCall) -> View {
        let early = call
            .early
            .and_then(|index| self.source(index))
            .and_then(|message| message.results().next());
        let mut message = Message::tool_error(&call.id, INTERRUPTED);
        if let (Some(early), Some(Body::Result(result))) =
            (early, message.parts.first_mut().map(|part| &mut part.body))
        {
            result.parts.clone_from(&early.parts);
            result.is_error = early.is_error;
        }
        if let Some(Body::Result(result)) = message.parts.first_mut().map(|part| &mut part.body) {
            result.name = Some(call.name.clone());
        }
        View::made(message)
    }
}
