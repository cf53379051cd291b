//! A model's answer: deltas while it streams, the same for every wire, and the complete answer at
//! the end.
//!
//! A [`Decoder`] is fed the events of one stream. It does no I/O, so an interrupted stream still
//! yields everything that arrived before.

use waterline::message::Message;

/// An increment of a streamed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// More text of the answer.
    Text(String),
    /// More of the model's reasoning.
    Thinking(String),
    /// A tool call starts.
    Call {
        /// The call's index among the calls of the answer, from 0.
        at: usize,
        /// The call's id; empty if the wire has none.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// The call's index among the calls of the answer.
        at: usize,
        /// More of the JSON text.
        json: String,
    },
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model finished its answer.
    End,
    /// The model waits for the results of its tool calls.
    Calls,
    /// The output token limit was reached.
    Length,
    /// The context window was full.
    Window,
    /// The model, or a filter, refused.
    Refused,
    /// The provider paused a long answer; sending it back resumes it.
    Paused,
    /// Another reason, with the provider's name for it.
    Other(String),
    /// The stream was interrupted.
    #[default]
    Interrupted,
}

/// The tokens of a call, as reported by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens that were not read from the cache or written to it.
    pub input: usize,
    /// Prompt tokens that were read from the cache.
    pub cache_read: usize,
    /// Prompt tokens that were written to the cache.
    pub cache_write: usize,
    /// Tokens of the answer, including its reasoning.
    pub output: usize,
}

impl Usage {
    /// Returns the tokens of the whole prompt.
    #[must_use]
    pub const fn prompt(&self) -> usize {
        self.input + self.cache_read + self.cache_write
    }
}

/// A finished answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The messages. Most wires give one message; Responses gives one per item.
    pub messages: Vec<Message>,
    /// Why the answer ended.
    pub stop: Stop,
    /// The tokens used, as far as reported.
    pub usage: Usage,
    /// The name of the model that answered, as the server reported it.
    pub model: Option<String>,
}

impl Answer {
    /// Returns the text of its messages, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.messages.iter().map(Message::text).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// An error that the provider reported in the middle of a stream, as its JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", crate::overflow::sentence(.0))]
pub struct Failure(pub String);

/// Decodes the events of one stream.
pub trait Decoder: Send {
    /// Decodes one event and emits its deltas.
    ///
    /// # Errors
    /// If the event is an error from the provider.
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure>;

    /// Ends the stream at any point and returns what arrived.
    fn finish(self: Box<Self>) -> Answer;
}
