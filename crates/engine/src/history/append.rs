//! Appends messages: finds the atom that a new message opens or joins, and the call it answers.

use std::borrow::Cow;
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::atom::{Atom, AtomKind, OpenCall};
use super::{Entry, History, normalize};
use crate::message::{Body, Form, Message, Role, ToolResult};
use crate::phrase;
use crate::phrase::Phrase;
use crate::warning::{Warning, WarningKind};

/// Returns whether a text is a reminder that a program inserted in the role of the user. Reminders
/// do not open a turn.
pub(crate) fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with("<system-reminder>")
}

impl History {
    /// Appends a message and returns its index.
    pub fn append(&mut self, message: Message) -> usize {
        self.append_indexed(message, None)
    }

    /// Appends a message whose tokens were already counted by this history's counter.
    pub fn append_counted(&mut self, message: Message, tokens: usize) -> usize {
        self.append_indexed(message, Some(tokens))
    }

    fn append_indexed(&mut self, message: Message, counted: Option<usize>) -> usize {
        let index = self.place(message, counted);
        if let Some(sent) = self.entries.last().and_then(Entry::sent) {
            self.values.append(index, sent);
        }
        index
    }

    /// Appends a message without indexing its values.
    pub(super) fn place(&mut self, message: Message, counted: Option<usize>) -> usize {
        let index = self.len();
        let mut view = match normalize::normalize(index, &message, &mut self.warnings) {
            Some(repaired) => Cow::Owned(repaired),
            None => Cow::Borrowed(&message),
        };
        let atom = match message.role {
            Role::System => self.place_system(index, &view),
            Role::Assistant => self.place_assistant(index, &mut view),
            Role::User | Role::Tool => self.place_answer_or_user(index, &mut view),
        };
        let repaired = match view {
            Cow::Owned(repaired) => Some(Box::new(repaired)),
            Cow::Borrowed(_) => None,
        };
        let sent = repaired.as_deref().unwrap_or(&message);
        let source_tokens = counted.unwrap_or_else(|| self.counter.message(&message));
        let tokens = if repaired.is_some() { self.counter.message(sent) } else { source_tokens };
        self.tokens += source_tokens;
        self.calls += usize::from(message.role == Role::Assistant);
        if message.role == Role::System {
            self.count_system(atom, &sent.text(), tokens);
        }
        self.entries.push(Entry { message: Some(message), repaired, tokens, atom });
        if let Some(atom) = self.atoms.get_mut(atom) {
            atom.tokens += tokens;
        }
        index
    }

    /// Counts a system message. Those at the beginning are all sent; a later one is sent only if
    /// its text is new.
    fn count_system(&mut self, atom: usize, text: &str, tokens: usize) {
        let is_new = self.system_texts.insert(FxBuildHasher.hash_one(text));
        let is_sendable = self.atoms.get(atom).is_some_and(Atom::is_sendable);
        if is_sendable && (is_new || atom < self.system_prefix) {
            self.system_tokens += tokens;
        }
    }

    pub(super) fn open_atom(&mut self, kind: AtomKind, message: usize) -> usize {
        self.atoms.push(Atom::new(kind, message, self.turns.len()));
        self.atoms.len() - 1
    }

    fn warn(&mut self, at: usize, kind: WarningKind, text: Phrase) {
        self.warnings.push(Warning::at(at, kind, text));
    }

    fn place_system(&mut self, index: usize, view: &Message) -> usize {
        if view.parts.is_empty() {
            return self.place_empty(index);
        }
        if self.system_prefix == self.atoms.len() && self.is_whole() {
            self.system_prefix += 1;
        } else {
            self.warn(
                index,
                WarningKind::MidSystem,
                phrase!("warning-mid-system", "a system message in the middle of the conversation"),
            );
        }
        self.open_atom(AtomKind::System, index)
    }

    fn place_empty(&mut self, index: usize) -> usize {
        let text = phrase!("warning-empty-message", "an empty message is not sent");
        self.warn(index, WarningKind::EmptyMessage, text);
        self.open_atom(AtomKind::Empty, index)
    }

    fn place_assistant(&mut self, index: usize, view: &mut Cow<'_, Message>) -> usize {
        if view.parts.is_empty() {
            return self.place_empty(index);
        }
        let kind = if view.calls().next().is_some() {
            AtomKind::Exchange
        } else if view.only_thinks() {
            AtomKind::Thought
        } else {
            AtomKind::Reply
        };
        let joined = self.join_assistant(index, kind);
        let atom = joined.unwrap_or_else(|| self.open_atom(kind, index));
        self.link_calls(index, atom, view);
        atom
    }

    /// Joins an assistant message to the last atom if they belong together: thinking with what
    /// follows it, and parallel calls that a wire writes as separate items.
    fn join_assistant(&mut self, index: usize, kind: AtomKind) -> Option<usize> {
        let last = self.atoms.len().checked_sub(1)?;
        let ends_with_thinking = self
            .atoms
            .last()?
            .messages
            .last()
            .and_then(|&m| self.message(m))
            .is_some_and(Message::only_thinks);
        let atom = self.atoms.last_mut()?;
        let is_open = match atom.kind {
            AtomKind::Thought => true,
            AtomKind::Exchange => !atom.answered && (ends_with_thinking || kind != AtomKind::Reply),
            _ => false,
        };
        if !is_open {
            return None;
        }
        atom.messages.push(index);
        if atom.kind == AtomKind::Thought {
            atom.kind = kind;
        }
        Some(last)
    }

    fn link_calls(&mut self, index: usize, atom: usize, view: &mut Cow<'_, Message>) {
        let calls: Vec<(usize, String, String)> = view
            .parts
            .iter()
            .enumerate()
            .filter_map(|(at, part)| match &part.body {
                Body::Call(call) => Some((at, call.id.clone(), call.name.clone())),
                _ => None,
            })
            .collect();
        if !calls.is_empty() {
            self.newest_exchange = Some(atom);
        }
        for (at, given, name) in calls {
            let id = self.links.claim(&given, index, at);
            if id != given {
                self.warn_renamed(index, &given, &id, view);
                rename(view, at, &id);
            }
            let early = self.links.wait(&given, atom);
            if early.is_some() {
                let text = phrase!(
                    "warning-early-result",
                    "the result of {name} comes before the call",
                    name = &name
                );
                self.warn(index, WarningKind::EarlyResult, text);
            }
            if let Some(atom) = self.atoms.get_mut(atom) {
                atom.open.push(OpenCall { id, given, name, message: index, early });
            }
        }
    }

    fn warn_renamed(&mut self, index: usize, given: &str, id: &str, view: &Message) {
        if !given.is_empty() {
            let text = phrase!(
                "warning-repeated-id",
                "the call id {given:?} is used twice; sent as {id:?}",
                given = given,
                id = id
            );
            self.warn(index, WarningKind::RepeatedId, text);
        } else if !view.raw.as_ref().is_some_and(|raw| raw.wire().pairs_by_order()) {
            let text = phrase!("warning-missing-id", "a call has no id; sent as {id:?}", id = id);
            self.warn(index, WarningKind::MissingId, text);
        }
    }

    fn place_answer_or_user(&mut self, index: usize, view: &mut Cow<'_, Message>) -> usize {
        let had_results = view.results().next().is_some();
        let answered = self.match_results(index, view);
        if view.has_text() || view.role == Role::User && !had_results && !view.parts.is_empty() {
            self.latest_text = Some(index);
            if !is_all_reminder(view) || self.latest_user.is_none() {
                self.latest_user = Some(index);
            }
        }
        match answered {
            Some(atom) => {
                self.join_results(index, atom, view);
                atom
            }
            None if view.parts.is_empty() && had_results => self.open_atom(AtomKind::Orphan, index),
            None if view.parts.is_empty() => self.place_empty(index),
            None => self.open_turn(index, view),
        }
    }

    fn open_turn(&mut self, index: usize, view: &Message) -> usize {
        if self.atoms.last().is_some_and(|atom| atom.kind == AtomKind::User) {
            let text = phrase!(
                "warning-repeated-user",
                "two user messages in a row; joined if the wire requires it"
            );
            self.warn(index, WarningKind::RepeatedUser, text);
        }
        if !is_all_reminder(view) || self.turns.is_empty() {
            self.turns.push(self.atoms.len());
        }
        self.open_atom(AtomKind::User, index)
    }

    fn join_results(&mut self, index: usize, atom: usize, view: &Message) {
        let newest = self.atoms.len() - 1;
        if atom != newest {
            let text = phrase!("warning-late-result", "a late result; sent right after its call");
            self.warn(index, WarningKind::LateResult, text);
        } else if self.turns.last() != Some(&atom) && view.texts().any(|text| !is_reminder(text)) {
            // The user wrote something while the tools ran: what follows is the answer to that.
            self.turns.push(atom);
        }
        if let Some(atom) = self.atoms.get_mut(atom) {
            atom.messages.push(index);
            atom.answered = true;
        }
    }

    /// Finds the call of each result, and removes results without one from the view. Returns the
    /// atom that the message answers.
    fn match_results(&mut self, index: usize, view: &mut Cow<'_, Message>) -> Option<usize> {
        let results: Vec<(usize, String, Option<String>)> = view
            .parts
            .iter()
            .enumerate()
            .filter_map(|(at, part)| match &part.body {
                Body::Result(result) => Some((at, result.call_id.clone(), result.name.clone())),
                _ => None,
            })
            .collect();
        let is_alone = results.len() == 1 && view.parts.len() == 1;
        // A message belongs to one step only: the newest of those that it answers. Results without
        // an id belong to the newest step.
        let named = results.iter().map(|(_, given, _)| given).filter(|given| !given.is_empty());
        let step =
            named.filter_map(|given| self.links.waiting_for(given)).max().or(self.newest_exchange);
        let mut has_answer = false;
        let mut unmatched = Vec::new();
        for (at, given, name) in results {
            let call = step.and_then(|step| self.find_call(step, &given, name.as_deref()));
            let Some(call) = call else {
                unmatched.push(at);
                self.warn_unmatched(index, &given, is_alone);
                continue;
            };
            has_answer = true;
            if call.id != given {
                rename(view, at, &call.id);
            }
            if name.is_some_and(|name| name != call.name) {
                name_tool(view, at, &call.name);
            }
        }
        if !unmatched.is_empty() {
            let message = view.to_mut();
            message.form = Form::Changed;
            let mut at = 0;
            message.parts.retain(|_| {
                at += 1;
                !unmatched.contains(&(at - 1))
            });
        }
        step.filter(|_| has_answer)
    }

    fn warn_unmatched(&mut self, index: usize, given: &str, is_alone: bool) {
        if self.links.waiting_for(given).is_some() {
            let text = phrase!(
                "warning-result-of-earlier-step",
                "the result of {given:?} belongs to an earlier step than the other results in this \
                 message; it is not sent",
                given = given
            );
            self.warn(index, WarningKind::LateResult, text);
        } else if self.links.was_answered(given) {
            let text = phrase!(
                "warning-second-result",
                "a second result for call {given:?}; it is not sent",
                given = given
            );
            self.warn(index, WarningKind::SecondResult, text);
        } else {
            let text = phrase!(
                "warning-orphan-result",
                "a result for {given:?}, but there is no such call; it is not sent",
                given = given
            );
            self.warn(index, WarningKind::OrphanResult, text);
            if is_alone {
                self.links.remember_early(given, index);
            }
        }
    }

    /// Finds the open call of an atom that a result answers, and removes it from the open calls.
    fn find_call(&mut self, atom: usize, given: &str, name: Option<&str>) -> Option<OpenCall> {
        let by_id = !given.is_empty() && self.links.waiting_for(given) == Some(atom);
        let open = &mut self.atoms.get_mut(atom)?.open;
        let is_match = |call: &OpenCall| {
            if by_id {
                call.given == given
            } else if call.id == given {
                // The caller may know the call only by the id under which it was sent.
                true
            } else {
                // One side has no id: order and name decide.
                (given.is_empty() || call.given.is_empty())
                    && name.is_none_or(|name| name == call.name)
            }
        };
        let at = open.iter().position(is_match)?;
        let call = open.remove(at);
        if open.is_empty() {
            open.shrink_to_fit();
        }
        self.links.answered(&call.given);
        Some(call)
    }
}

/// Sets the tool name of a result to the name in the call.
fn name_tool(view: &mut Cow<'_, Message>, at: usize, name: &str) {
    let message = view.to_mut();
    message.form = Form::Changed;
    if let Some(Body::Result(result)) = message.parts.get_mut(at).map(|part| &mut part.body) {
        result.name = Some(name.to_owned());
    }
}

/// Returns whether a message contains nothing but reminders.
fn is_all_reminder(view: &Message) -> bool {
    let others =
        view.parts.iter().any(|part| !matches!(part.body, Body::Text(_) | Body::Result(_)));
    view.has_text() && !others && view.texts().all(is_reminder)
}

fn rename(view: &mut Cow<'_, Message>, at: usize, id: &str) {
    let message = view.to_mut();
    if message.form == Form::AsReceived {
        message.form = Form::Renumbered;
    }
    match message.parts.get_mut(at).map(|part| &mut part.body) {
        Some(Body::Call(call)) => id.clone_into(&mut call.id),
        Some(Body::Result(ToolResult { call_id, .. })) => id.clone_into(call_id),
        _ => {}
    }
}
