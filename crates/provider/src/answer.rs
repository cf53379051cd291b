//! What a model answers, as it comes: deltas of one type whatever the wire, and at the end the
//! answer itself.
//!
//! A decoder is fed the events of one stream. It does no input or output, so an answer that breaks
//! off anywhere still has everything that came before.

use waterline::message::Message;

/// Something that just came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More words of the answer.
    Text(String),
    /// More of the model's reasoning.
    Thinking(String),
    /// A call begins.
    Call {
        /// Its place among the calls of the answer, from 0.
        at: usize,
        /// Its id; empty where the wire has none.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        /// The call's place among the calls of the answer.
        at: usize,
        /// More of the JSON text.
        json: String,
    },
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// The model had said everything.
    End,
    /// The model waits for the results of its calls.
    Calls,
    /// The limit of the answer was reached.
    Length,
    /// The window was full.
    Window,
    /// The model, or a filter, refused.
    Refused,
    /// The provider paused a long answer; sending it back goes on.
    Paused,
    /// Some other reason, in the provider's word.
    Other(String),
    /// The stream broke off.
    #[default]
    Interrupted,
}

/// Tokens of a call, as the provider reported them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt that no cache served.
    pub input: usize,
    /// Tokens of the prompt that the cache served.
    pub cache_read: usize,
    /// Tokens of the prompt that were written to the cache.
    pub cache_write: usize,
    /// Tokens of the answer, with its reasoning.
    pub output: usize,
}

impl Usage {
    /// Tokens of the whole prompt.
    #[must_use]
    pub const fn prompt(&self) -> usize {
        self.input + self.cache_read + self.cache_write
    }
}

/// A finished answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What was said; most wires give one message, Responses one an item.
    pub messages: Vec<Message>,
    /// Why it ended.
    pub stop: Stop,
    /// What it took, as far as it was reported.
    pub usage: Usage,
    /// The model that answered, by its own name.
    pub model: Option<String>,
}

impl Answer {
    /// The words of its messages, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.messages.iter().map(Message::text).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// The provider reported an error in the middle of a stream; its own JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", crate::overflow::sentence(.0))]
pub struct Failure(pub String);

/// Reads the events of one stream.
pub trait Decoder: Send {
    /// Takes one event and hands over what it brings.
    ///
    /// # Errors
    /// When the provider reports an error.
    fn event(&mut self, data: &str, emit: &mut dyn FnMut(Delta)) -> Result<(), Failure>;

    /// Ends the stream, wherever it is.
    fn finish(self: Box<Self>) -> Answer;
}
