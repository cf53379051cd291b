//! The smallest thing that may be kept, reduced or dropped.

/// What an atom is.
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
    /// Thinking whose answer has not come.
    Thought,
    /// A result whose call is not in the history.
    Orphan,
    /// A message with nothing in it.
    Empty,
}

/// A call that no result answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// The call's id, as it is sent.
    pub id: String,
    /// The id it came with.
    pub(super) given: String,
    /// The tool.
    pub name: String,
    /// The message that made the call.
    pub message: usize,
    /// A result of this id that came before the call.
    pub(super) early: Option<usize>,
}

/// A plain message, or an assistant message with all results of its calls.
#[derive(Clone, Debug)]
pub struct Atom {
    /// What it is.
    pub kind: AtomKind,
    /// Its messages in the order they are sent: the assistant's first, then the results.
    pub messages: Vec<usize>,
    /// Calls without a result; they are answered as interrupted when the atom is sent.
    pub open: Vec<OpenCall>,
    /// How many turns had begun when it came.
    pub turn: usize,
    /// Tokens of its messages.
    pub tokens: usize,
    /// Whether a result has joined.
    pub(super) answered: bool,
}

impl Atom {
    pub(super) fn new(kind: AtomKind, message: usize, turn: usize) -> Self {
        Self { kind, messages: vec![message], open: Vec::new(), turn, tokens: 0, answered: false }
    }

    /// Whether there is something in it that can be sent.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        !self.messages.is_empty()
            && matches!(
                self.kind,
                AtomKind::System | AtomKind::User | AtomKind::Reply | AtomKind::Exchange
            )
    }

    /// Why it cannot be sent, for a person.
    #[must_use]
    pub const fn unsendable_reason(&self) -> &'static str {
        match self.kind {
            AtomKind::Orphan => "a result that no call before it waits for",
            AtomKind::Thought => "thinking without an answer",
            _ => "an empty message",
        }
    }
}
