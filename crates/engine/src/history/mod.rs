//! The messages of one conversation with the indexes that planning needs: atoms, turns, tokens,
//! values.
//!
//! Appending costs what the new message costs, however long the history is. Nothing is ever edited:
//! where a message is irregular, a repaired *view* stands beside it and a warning says so.

mod append;
mod atom;
mod links;
mod normalize;
mod tail;
mod views;

pub use append::Prepared;
pub use atom::{Atom, AtomKind, OpenCall};
pub use tail::Past;
pub use views::View;

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::ledger::Index;
use crate::message::Message;
use crate::tokens::Counter;
use crate::warning::{Oddity, Warning};
use links::Links;

#[derive(Clone, Debug)]
struct Entry {
    message: Message,
    /// The repaired message, where the source is irregular.
    repaired: Option<Box<Message>>,
    tokens: usize,
    atom: usize,
}

/// A conversation, growing.
#[derive(Clone, Debug, Default)]
pub struct History {
    counter: Counter,
    /// What came before the first entry and is not loaded.
    past: Past,
    entries: Vec<Entry>,
    atoms: Vec<Atom>,
    turns: Vec<usize>,
    lead: usize,
    newest_exchange: Option<usize>,
    latest_user: Option<usize>,
    latest_words: Option<usize>,
    links: Links,
    values: Index,
    warnings: Vec<Warning>,
    tokens: usize,
    system_tokens: usize,
    /// Messages of the assistant, as many as there were calls.
    calls: usize,
    /// What system messages said, by hash.
    system_texts: FxHashSet<u64>,
}

impl History {
    /// An empty history whose messages are counted by `counter`.
    #[must_use]
    pub fn new(counter: Counter) -> Self {
        Self { counter, ..Self::default() }
    }

    /// A history of these messages.
    pub fn of(counter: Counter, messages: impl IntoIterator<Item = Message>) -> Self {
        let mut history = Self::new(counter);
        history.extend(messages);
        history
    }

    /// How messages are counted.
    #[must_use]
    pub const fn counter(&self) -> &Counter {
        &self.counter
    }

    /// How many messages there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.past.messages + self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index.checked_sub(self.past.messages)?)
    }

    /// A message as it came.
    #[must_use]
    pub fn source(&self, index: usize) -> Option<&Message> {
        self.entry(index).map(|entry| &entry.message)
    }

    /// A message as it is sent: repaired where the source is irregular.
    #[must_use]
    pub fn message(&self, index: usize) -> Option<&Message> {
        self.entry(index).map(|entry| entry.repaired.as_deref().unwrap_or(&entry.message))
    }

    /// Whether a message is sent otherwise than it came.
    #[must_use]
    pub fn is_repaired(&self, index: usize) -> bool {
        self.entry(index).is_some_and(|entry| entry.repaired.is_some())
    }

    /// The tokens of a message as it is sent.
    #[must_use]
    pub fn message_tokens(&self, index: usize) -> usize {
        self.entry(index).map_or(0, |entry| entry.tokens)
    }

    /// The atom a message belongs to.
    #[must_use]
    pub fn atom_of(&self, message: usize) -> Option<usize> {
        self.entry(message).map(|entry| entry.atom)
    }

    /// All atoms, oldest first.
    #[must_use]
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// One atom.
    #[must_use]
    pub fn atom(&self, index: usize) -> Option<&Atom> {
        self.atoms.get(index)
    }

    /// The messages of an atom as they are sent, without the answers made for open calls.
    pub fn atom_messages(&self, atom: usize) -> impl Iterator<Item = &Message> {
        let messages = self.atoms.get(atom).map_or(&[][..], |atom| &atom.messages);
        messages.iter().filter_map(|&index| self.message(index))
    }

    /// The atoms that open a turn, oldest first.
    #[must_use]
    pub fn turns(&self) -> &[usize] {
        &self.turns
    }

    /// The atoms of a turn.
    #[must_use]
    pub fn turn_atoms(&self, turn: usize) -> Range<usize> {
        let start = self.turns.get(turn).copied().unwrap_or(self.atoms.len());
        let end = self.turns.get(turn + 1).copied().unwrap_or(self.atoms.len());
        start..end
    }

    /// How many atoms at the beginning are system messages.
    #[must_use]
    pub const fn lead(&self) -> usize {
        self.lead
    }

    /// The newest message in which a user says something.
    #[must_use]
    pub const fn latest_user(&self) -> Option<usize> {
        self.latest_user
    }

    /// The newest message with words in the user's place, a program's notes included.
    #[must_use]
    pub const fn latest_words(&self) -> Option<usize> {
        self.latest_words
    }

    /// Calls that have no result yet and thinking that has no answer yet: what is odd if nothing
    /// more comes.
    #[must_use]
    pub fn loose_ends(&self) -> Vec<Warning> {
        let open = self.atoms.iter().flat_map(|atom| &atom.open).map(|call| {
            let text = format!("the call of {} has no result; answered as interrupted", call.name);
            Warning::at(call.message, Oddity::UnansweredCall, text)
        });
        let thoughts = self.atoms.iter().filter(|atom| atom.kind == AtomKind::Thought);
        let thoughts = thoughts.filter_map(|atom| atom.messages.first()).map(|&message| {
            Warning::at(message, Oddity::DanglingThought, "thinking without an answer is not sent")
        });
        open.chain(thoughts).collect()
    }

    /// The tokens of system messages, each text in the middle once: what is sent in any case.
    #[must_use]
    pub const fn system_tokens(&self) -> usize {
        self.system_tokens
    }

    /// The values seen so far, for the ledger.
    #[must_use]
    pub const fn values(&self) -> &Index {
        &self.values
    }

    /// What was odd about the messages.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The tokens that the conversation grows by with each call; 0 before the first.
    #[must_use]
    pub const fn growth(&self) -> usize {
        match self.tokens.saturating_sub(self.system_tokens).checked_div(self.calls) {
            Some(tokens) => tokens,
            None => 0,
        }
    }

    /// The tokens of all messages as they came.
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
