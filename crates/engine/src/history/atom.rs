//! Atoms: the smallest units that are kept, reduced or dropped.

use crate::reason::Reason;

/// What an atom is made of. Stages treat each kind differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomKind {
    /// A system message.
    System,
    /// A user message.
    User,
    /// An assistant message without calls.
    Reply,
    /// An assistant message with all results of its calls.
    Exchange,
    /// Thinking without an answer.
    Thought,
    /// A result whose call is not in the history.
    Orphan,
    /// An empty message.
    Empty,
    /// A message that is not in memory, because it is too old to be sent.
    Unread,
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The id of the call as it is sent.
    pub id: String,
    /// The id it was appended with.
    pub(super) given: String,
    /// The name of the tool.
    pub name: String,
    /// The index of the message with the call.
    pub message: usize,
    /// A result with this id that precedes the call.
    pub(super) early: Option<usize>,
}

/// A plain message, or an assistant message with all results of its calls.
#[derive(Clone, Debug)]
pub struct Atom {
    /// What kind it is.
    pub kind: AtomKind,
    /// The indexes of its messages in the order in which they are sent: those of the assistant
    /// first, then the results.
    pub messages: Vec<usize>,
    /// The calls without a result. They are answered as interrupted when the atom is sent.
    pub open: Vec<OpenCall>,
    /// The number of turns up to this atom.
    pub turn: usize,
    /// The tokens of its messages.
    pub tokens: usize,
    /// Whether it has a result.
    pub(super) answered: bool,
}

impl Atom {
    pub(super) fn new(kind: AtomKind, message: usize, turn: usize) -> Self {
        Self { kind, messages: vec![message], open: Vec::new(), turn, tokens: 0, answered: false }
    }

    /// Returns whether it can be sent.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        !self.messages.is_empty()
            && matches!(
                self.kind,
                AtomKind::System | AtomKind::User | AtomKind::Reply | AtomKind::Exchange
            )
    }

    /// Returns why it cannot be sent, for people.
    #[must_use]
    pub const fn unsendable_reason(&self) -> Reason {
        match self.kind {
            AtomKind::Orphan => Reason::Orphan,
            AtomKind::Thought => Reason::OnlyThinking,
            AtomKind::Unread => Reason::Unread,
            _ => Reason::Empty,
        }
    }
}
