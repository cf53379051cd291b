//! A conversation as some program recorded it: the messages, and what the program noted beside
//! them.

use waterline::message::{Message, Wire};
use waterline_provider::wire::Tool;

/// A recorded conversation: a session, one branch of it, or one of its sub-agents.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// Its id; the file's own where it has one.
    pub id: String,
    /// The session it belongs to: for a branch the one it left, for a sub-agent the one that
    /// started it.
    pub parent: Option<String>,
    /// How it stands to its parent.
    pub role: Standing,
    /// The model it was held with, the first one if there were several.
    pub model: Option<String>,
    /// The wire its messages are written in.
    pub wire: Wire,
    /// The tool definitions, where the file has them.
    pub tools: Vec<Tool>,
    /// What was said, in order.
    pub entries: Vec<Entry>,
    /// Where the program itself cut its context.
    pub compactions: Vec<Compaction>,
}

/// How a transcript stands to the session it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// The session itself.
    #[default]
    Main,
    /// A way that was left: the user went back and said something else.
    Branch,
    /// An agent that the session started.
    SubAgent,
}

impl Standing {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Branch => "branch",
            Self::SubAgent => "sub-agent",
        }
    }
}

/// One message, with what was noted beside it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The message.
    pub message: Message,
    /// Seconds since 1970.
    pub time: Option<i64>,
    /// What the provider reported for the call that made it.
    pub usage: Option<Usage>,
    /// Written by the program to stand for messages it had cut: not part of what was said.
    pub is_summary: bool,
    /// The place it has among the messages of the file.
    pub index: usize,
}

/// Tokens as the provider reported them for one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The whole prompt, cached or not.
    pub prompt: usize,
    /// Of it, read from the cache.
    pub cached: usize,
    /// Of it, written to the cache.
    pub written: usize,
    /// The answer.
    pub output: usize,
}

/// The program cut its context here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// The message it stands before, by its place in the transcript.
    pub at: usize,
    /// Tokens before it, where the program noted them.
    pub before: Option<usize>,
    /// Tokens after it.
    pub after: Option<usize>,
    /// What started it, in the program's word.
    pub trigger: Option<String>,
}

impl Entry {
    /// A message of which nothing more is known.
    #[must_use]
    pub const fn of(message: Message, index: usize) -> Self {
        Self { message, time: None, usage: None, is_summary: false, index }
    }
}

impl Transcript {
    /// A transcript without messages.
    #[must_use]
    pub const fn new(id: String, wire: Wire) -> Self {
        Self {
            id,
            parent: None,
            role: Standing::Main,
            model: None,
            wire,
            tools: Vec::new(),
            entries: Vec::new(),
            compactions: Vec::new(),
        }
    }

    /// Adds a message behind the others.
    pub fn push(&mut self, message: Message) -> Option<&mut Entry> {
        let index = self.entries.len();
        self.entries.push(Entry::of(message, index));
        self.entries.last_mut()
    }

    /// The messages, without what the program noted beside them.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().map(|entry| &entry.message)
    }
}
