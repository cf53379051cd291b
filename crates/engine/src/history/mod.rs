//! The messages of one conversation with the indexes that planning needs: atoms, turns, tokens,
//! values.
//!
//! The cost of appending a message does not depend on the length of the history. Messages are never
//! edited: an irregular message gets a repaired copy, which is sent in its place, and a warning.

mod append;
mod atom;
mod chunk;
mod links;
mod normalize;
mod number;
mod steps;
mod tail;
mod unread;
mod views;

pub(crate) use append::is_reminder;
pub use atom::{Atom, AtomKind, OpenCall};
pub use chunk::Chunk;
pub use tail::Past;
pub use views::View;

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::ledger::Index;
use crate::message::Message;
use crate::phrase;
use crate::tokens::Counter;
use crate::warning::{Warning, WarningKind};
use links::Links;

#[derive(Clone, Debug)]
struct Entry {
    /// `None` if the message is unread.
    message: Option<Message>,
    /// The repaired copy, if the message is irregular.
    repaired: Option<Box<Message>>,
    tokens: usize,
    atom: usize,
}

impl Entry {
    /// Returns the message as it is sent.
    fn sent(&self) -> Option<&Message> {
        self.repaired.as_deref().or(self.message.as_ref())
    }
}

/// A conversation that grows.
#[derive(Clone, Debug, Default)]
pub struct History {
    counter: Counter,
    /// The messages before the first entry, which are not loaded.
    past: Past,
    /// How many messages have numbers before this history starts.
    numbered_before: usize,
    /// How many of the messages that are not loaded are the system prompt.
    past_prompts: usize,
    entries: Vec<Entry>,
    atoms: Vec<Atom>,
    turns: Vec<usize>,
    system_prefix: usize,
    newest_exchange: Option<usize>,
    latest_user: Option<usize>,
    latest_text: Option<usize>,
    links: Links,
    values: Index,
    /// The number of unread messages among the entries.
    unread: usize,
    /// Their tokens.
    unread_tokens: usize,
    warnings: Vec<Warning>,
    tokens: usize,
    system_tokens: usize,
    /// The number of assistant messages, which is the number of model calls.
    calls: usize,
    /// The hashes of the texts of the system messages.
    system_texts: FxHashSet<u64>,
}

impl History {
    /// Creates an empty history whose tokens are counted by `counter`.
    #[must_use]
    pub fn new(counter: Counter) -> Self {
        Self { counter, ..Self::default() }
    }

    /// Creates a history of these messages.
    pub fn of(counter: Counter, messages: impl IntoIterator<Item = Message>) -> Self {
        let mut history = Self::new(counter);
        history.extend(messages);
        history
    }

    /// Returns the token counter.
    #[must_use]
    pub const fn counter(&self) -> &Counter {
        &self.counter
    }

    /// Returns the number of messages, including those that are not loaded.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.past.messages + self.entries.len()
    }

    /// Returns whether the history is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index.checked_sub(self.past.messages)?)
    }

    /// Returns a message as it was appended; `None` if it is not in memory.
    #[must_use]
    pub fn source(&self, index: usize) -> Option<&Message> {
        self.entry(index)?.message.as_ref()
    }

    /// Returns a message as it is sent: repaired if it is irregular.
    #[must_use]
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.entry(index)?.sent()
    }

    /// Returns whether a message is irregular and was repaired.
    #[must_use]
    pub fn is_repaired(&self, index: usize) -> bool {
        self.entry(index).is_some_and(|entry| entry.repaired.is_some())
    }

    /// Returns the tokens of a message as it is sent.
    #[must_use]
    pub fn message_tokens(&self, index: usize) -> usize {
        self.entry(index).map_or(0, |entry| entry.tokens)
    }

    /// Returns the atom that a message belongs to.
    #[must_use]
    pub fn atom_of(&self, message: usize) -> Option<usize> {
        self.entry(message).map(|entry| entry.atom)
    }

    /// Returns all atoms, oldest first.
    #[must_use]
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// Returns one atom.
    #[must_use]
    pub fn atom(&self, index: usize) -> Option<&Atom> {
        self.atoms.get(index)
    }

    /// Returns the messages of an atom as they are sent, without the results made for open calls.
    pub fn atom_messages(&self, atom: usize) -> impl Iterator<Item = &Message> {
        let messages = self.atoms.get(atom).map_or(&[][..], |atom| &atom.messages);
        messages.iter().filter_map(|&index| self.message(index))
    }

    /// Returns the atoms that open a turn, oldest first.
    #[must_use]
    pub fn turns(&self) -> &[usize] {
        &self.turns
    }

    /// Returns the indexes of the atoms from a user message up to the next one.
    #[must_use]
    pub fn turn_atoms(&self, turn: usize) -> Range<usize> {
        let start = self.turns.get(turn).copied().unwrap_or(self.atoms.len());
        let end = self.turns.get(turn + 1).copied().unwrap_or(self.atoms.len());
        start..end
    }

    /// Returns the atoms that open a step, oldest first. A step is one model call with its results;
    /// the user messages that it answers and the text that ends a turn belong to it. They are found
    /// anew each time, because only folds need them.
    #[must_use]
    pub fn steps(&self) -> Vec<usize> {
        steps::find(&self.atoms)
    }

    /// Returns how many atoms at the beginning are system messages.
    #[must_use]
    pub const fn system_prefix(&self) -> usize {
        self.system_prefix
    }

    /// Returns the newest message that the user wrote.
    #[must_use]
    pub const fn latest_user(&self) -> Option<usize> {
        self.latest_user
    }

    /// Returns the newest message with text in the role of the user, including reminders that a
    /// program inserted.
    #[must_use]
    pub const fn latest_text(&self) -> Option<usize> {
        self.latest_text
    }

    /// Returns warnings about calls without a result and thinking without an answer. They apply
    /// only if no further message is appended.
    #[must_use]
    pub fn loose_ends(&self) -> Vec<Warning> {
        let open = self.atoms.iter().flat_map(|atom| &atom.open).map(|call| {
            let text = phrase!(
                "warning-unanswered-call",
                "the call to {name} has no result; answered as interrupted",
                name = &call.name
            );
            Warning::at(call.message, WarningKind::UnansweredCall, text)
        });
        let thoughts = self.atoms.iter().filter(|atom| atom.kind == AtomKind::Thought);
        let dangling = thoughts.filter_map(|atom| atom.messages.first()).map(|&message| {
            Warning::at(
                message,
                WarningKind::DanglingThought,
                phrase!("warning-dangling-thought", "thinking without an answer is not sent"),
            )
        });
        open.chain(dangling).collect()
    }

    /// Returns the tokens of the system messages, which are always sent. Repeated texts in the
    /// middle of the conversation count once.
    #[must_use]
    pub const fn system_tokens(&self) -> usize {
        self.system_tokens
    }

    /// Returns the values seen so far, for the ledger.
    #[must_use]
    pub const fn values(&self) -> &Index {
        &self.values
    }

    /// Returns the warnings about irregular messages.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the average number of tokens that a call adds; 0 before the first call.
    #[must_use]
    pub const fn growth(&self) -> usize {
        match self.tokens.saturating_sub(self.system_tokens).checked_div(self.calls) {
            Some(tokens) => tokens,
            None => 0,
        }
    }

    /// Returns the tokens of all messages as they were appended.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }
}

impl Extend<Message> for History {
    fn extend<T: IntoIterator<Item = Message>>(&mut self, messages: T) {
        let messages = messages.into_iter();
        self.entries.reserve_exact(messages.size_hint().0);
        for message in messages {
            self.append(message);
        }
    }
}
