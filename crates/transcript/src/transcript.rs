//! [`Transcript`]: a conversation as a program recorded it, with the messages and their metadata.

use waterline::message::{Message, Wire};
use waterline_provider::wire::Tool;

/// A recorded conversation: a session, one branch of it, or one of its sub-agents.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// The session's id in the file, or a generated one.
    pub id: String,
    /// The session it belongs to: for a branch the one it left, for a sub-agent the one that
    /// started it.
    pub parent: Option<String>,
    /// Its relation to the parent.
    pub role: TranscriptKind,
    /// The model; the first one if there were several.
    pub model: Option<String>,
    /// The wire format of the messages.
    pub wire: Wire,
    /// The tool definitions, if the file has them.
    pub tools: Vec<Tool>,
    /// The messages, in order.
    pub entries: Vec<Entry>,
    /// The points where the recording program compacted its context.
    pub compactions: Vec<Compaction>,
}

/// The relation of a transcript to the session it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptKind {
    /// The messages of the user and the agent.
    #[default]
    Main,
    /// An abandoned branch: the user rewound and continued differently.
    Branch,
    /// A sub-agent that the session started.
    SubAgent,
}

impl TranscriptKind {
    /// Returns its name in written files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Branch => "branch",
            Self::SubAgent => "sub-agent",
        }
    }
}

/// One message with its metadata.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The message, in the format of the transcript's wire.
    pub message: Message,
    /// Seconds since 1970.
    pub time: Option<i64>,
    /// The tokens of the call that produced it, as the provider reported them.
    pub usage: Option<Usage>,
    /// Whether the recording program wrote it to replace compacted messages. Such a message is not
    /// part of the conversation.
    pub is_summary: bool,
    /// Its index among the messages of the file.
    pub index: usize,
}

/// The tokens of one call, as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the whole prompt, cached or not.
    pub prompt: usize,
    /// Prompt tokens read from the cache.
    pub cached: usize,
    /// Prompt tokens written to the cache.
    pub written: usize,
    /// Tokens of the answer.
    pub output: usize,
}

/// A point where the recording program compacted its context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compaction {
    /// The index of the first entry after it.
    pub at: usize,
    /// Tokens before the compaction, if recorded.
    pub before: Option<usize>,
    /// Tokens after the compaction, if recorded.
    pub after: Option<usize>,
    /// The trigger, as the program recorded it.
    pub trigger: Option<String>,
}

impl Entry {
    /// Creates an entry without metadata.
    #[must_use]
    pub const fn of(message: Message, index: usize) -> Self {
        Self { message, time: None, usage: None, is_summary: false, index }
    }
}

impl Transcript {
    /// Creates a transcript without messages.
    #[must_use]
    pub const fn new(id: String, wire: Wire) -> Self {
        Self {
            id,
            parent: None,
            role: TranscriptKind::Main,
            model: None,
            wire,
            tools: Vec::new(),
            entries: Vec::new(),
            compactions: Vec::new(),
        }
    }

    /// Appends a message and returns its entry, so that metadata can be added.
    pub fn push(&mut self, message: Message) -> Option<&mut Entry> {
        let index = self.entries.len();
        self.entries.push(Entry::of(message, index));
        self.entries.last_mut()
    }

    /// Returns the messages without their metadata.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().map(|entry| &entry.message)
    }
}
