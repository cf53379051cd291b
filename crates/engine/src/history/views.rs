//! An atom as it is sent: its messages, and an answer for every call that has none.

use std::sync::Arc;

use super::{Atom, History, OpenCall};
use crate::message::{Body, Form, Message, Part, Role};

/// The text that answers a call whose result never came.
const INTERRUPTED: &str = "[interrupted: no result was recorded for this call]";

/// One message of a context: a message of the history, or one made for the context.
#[derive(Clone, Debug)]
pub enum View {
    /// The message at this index, as [`History::message`] gives it.
    Source(usize),
    /// A reduced, merged or made message.
    Made(Arc<Message>),
}

impl View {
    /// A message made for the context.
    #[must_use]
    pub fn made(message: Message) -> Self {
        Self::Made(Arc::new(message))
    }

    /// The message it stands for.
    #[must_use]
    pub fn message<'a>(&'a self, history: &'a History) -> Option<&'a Message> {
        match self {
            Self::Source(index) => history.message(*index),
            Self::Made(message) => Some(message),
        }
    }

    /// Its tokens.
    #[must_use]
    pub fn tokens(&self, history: &History) -> usize {
        match self {
            Self::Source(index) => history.message_tokens(*index),
            Self::Made(message) => history.counter().message(message),
        }
    }
}

impl History {
    /// The messages of an atom as they are sent, as far as they are not among the first `from`
    /// messages: those were sent before, with an answer for every call they made.
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
        self.words_last(views)
    }

    /// Thinking goes with what it led to; where that never came, it is not sent.
    fn drop_dangling_thought(&self, views: &mut Vec<View>) {
        let assistant =
            |view: &View| view.message(self).is_some_and(|message| message.role == Role::Assistant);
        let thinks = |view: &View| view.message(self).is_some_and(Message::only_thinks);
        while let Some(last) =
            views.iter().rposition(assistant).filter(|&at| views.get(at).is_some_and(thinks))
        {
            views.remove(last);
        }
    }

    /// Words that stand between two results are moved behind the last one; no wire takes them in
    /// between.
    fn words_last(&self, views: Vec<View>) -> Vec<View> {
        let is_other = |part: &Part| !matches!(part.body, Body::Result(_));
        let speaks = |view: &View| {
            view.message(self)
                .is_some_and(|m| m.role != Role::Assistant && m.parts.iter().any(is_other))
        };
        if !views.iter().rev().skip(1).any(speaks) {
            return views;
        }
        let mut ordered = Vec::new();
        let mut words = Vec::new();
        for view in views {
            let Some(message) = view.message(self).filter(|_| speaks(&view)) else {
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
            words.extend(rest);
        }
        ordered.push(View::made(Message::new(Role::User, words)));
        ordered
    }

    /// What came after an atom had been sent: new calls with their results; a result for a call
    /// that was answered as interrupted comes too late.
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
            let mut left = message.clone();
            left.form = Form::Changed;
            left.parts.retain(|part| !matches!(&part.body, Body::Result(r) if answered.contains(&r.call_id.as_str())));
            (!left.parts.is_empty()).then(|| View::made(left))
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
