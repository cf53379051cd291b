//! Chunks: consecutive messages with the index of their values. A chunk does not need the messages
//! before it, so that the chunks of a long history can be made in parallel.

use super::{Entry, History};
use crate::ledger::Index;
use crate::message::{Message, Role};

/// Consecutive messages with the index of their values.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The index of the first message in the history.
    first: usize,
    arrivals: Vec<Arrival>,
    values: Index,
}

/// A message of a chunk.
#[derive(Clone, Debug)]
enum Arrival {
    /// With its tokens, if they are known.
    Read(Message, Option<usize>),
    Unread(Role, usize),
}

impl Chunk {
    /// Creates an empty chunk. `first` will be the index of its first message in the history.
    #[must_use]
    pub fn new(first: usize) -> Self {
        Self { first, arrivals: Vec::new(), values: Index::default() }
    }

    /// Adds a message, with its tokens if the history's counter counted them before.
    pub fn push(&mut self, message: Message, tokens: Option<usize>) {
        self.values.append(self.first + self.arrivals.len(), &message);
        self.arrivals.push(Arrival::Read(message, tokens));
    }

    /// Adds a message without its text, as [`History::append_unread`].
    pub fn push_unread(&mut self, role: Role, tokens: usize) {
        self.arrivals.push(Arrival::Unread(role, tokens));
    }

    /// Returns the number of messages.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// Returns whether the chunk is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }
}

impl History {
    /// Appends the messages of a chunk.
    pub fn append_chunk(&mut self, chunk: Chunk) {
        let from = self.len();
        self.entries.reserve(chunk.len());
        for arrival in chunk.arrivals {
            match arrival {
                Arrival::Read(message, tokens) => {
                    self.place(message, tokens);
                }
                Arrival::Unread(role, tokens) => self.append_unread(role, tokens),
            }
        }
        // The index of the chunk has the values of the messages before repairs, and of the place
        // that it was made for.
        let is_as_indexed =
            chunk.first == from && !(from..self.len()).any(|index| self.is_repaired(index));
        if is_as_indexed {
            self.values.merge(chunk.values);
            return;
        }
        for index in from..self.len() {
            let entry = index.checked_sub(self.past.messages).and_then(|at| self.entries.get(at));
            if let Some(sent) = entry.and_then(Entry::sent) {
                self.values.append(index, sent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Seen;
    use crate::message::{Body, Part, ToolCall, ToolResult};
    use crate::tokens::Counter;

    fn call(id: &str, arguments: &str) -> Message {
        Message::new(
            Role::Assistant,
            vec![Part::from(Body::Call(ToolCall::new(id, "read_file", arguments)))],
        )
    }

    fn result(id: &str, text: &str) -> Message {
        let result = Body::Result(ToolResult::new(id, text));
        Message::new(Role::Tool, vec![Part::from(result)])
    }

    /// A conversation in which values, files and calls appear on both sides of every division.
    fn conversation() -> Vec<Message> {
        vec![
            Message::system("You edit src/main.rs."),
            Message::user("Why does parse_line fail in src/parse.rs?"),
            call("a", r#"{"path": "src/parse.rs"}"#),
            result("a", "fn parse_line() { read_token() }\nfn read_token() {}"),
            call("b", r#"{"path": "src/token.rs"}"#),
            result("b", "pub fn read_token() -> u32 { 4711_u32 }"),
            Message::assistant("read_token in src/token.rs returns 4711_u32."),
            call("a", r#"{"query": "parse_line"}"#),
            result("a", "src/lib.rs:12: parse_line, read_token"),
            Message::user("Then open src/lib.rs."),
        ]
    }

    fn in_chunks(messages: &[Message], size: usize) -> History {
        let mut history = History::new(Counter::default());
        for messages in messages.chunks(size) {
            let mut chunk = Chunk::new(history.len());
            messages.iter().for_each(|message| chunk.push(message.clone(), None));
            history.append_chunk(chunk);
        }
        history
    }

    fn values(history: &History) -> Vec<(&str, &Seen)> {
        let mut values: Vec<_> = history.values().iter().collect();
        values.sort_by_key(|(value, _)| *value);
        values
    }

    fn assert_same(history: &History, whole: &History) {
        assert_eq!(values(history), values(whole));
        for (value, seen) in whole.values().iter() {
            let of = |index: &Index| {
                (index.kin(value), index.source_used(seen), index.source_named(seen))
            };
            assert_eq!(of(history.values()), of(whole.values()), "{value}");
        }
        assert_eq!(history.values().newest(), whole.values().newest());
        assert_eq!(history.tokens(), whole.tokens());
        assert_eq!(history.warnings(), whole.warnings());
    }

    #[test]
    fn a_history_is_the_same_in_chunks_of_any_size() {
        let messages = conversation();
        let whole = History::of(Counter::default(), messages.clone());
        assert_ne!(whole.values().get("read_token").map(Seen::source), Some(0));
        for size in 1..=messages.len() {
            assert_same(&in_chunks(&messages, size), &whole);
        }
    }

    #[test]
    fn values_of_results_that_are_not_sent_are_not_indexed() {
        let mut messages = conversation();
        messages.insert(4, result("unknown", "lost_value"));
        let whole = History::of(Counter::default(), messages.clone());
        assert!(whole.values().get("lost_value").is_none());
        for size in 1..=messages.len() {
            assert_same(&in_chunks(&messages, size), &whole);
        }
    }
}
