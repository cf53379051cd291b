//! The lines typed while the agent works, in order: messages that can still steer the turn, and
//! commands to run after it.

use std::collections::VecDeque;

/// The lines that wait.
#[derive(Debug, Default)]
pub struct Queue(VecDeque<Entry>);

#[derive(Debug)]
struct Entry {
    text: String,
    is_command: bool,
}

impl Queue {
    /// Adds a message for the agent.
    pub fn push_message(&mut self, text: &str) {
        self.0.push_back(Entry { text: text.to_owned(), is_command: false });
    }

    /// Adds a command.
    pub fn push_command(&mut self, text: &str) {
        self.0.push_back(Entry { text: text.to_owned(), is_command: true });
    }

    /// Takes the messages, which are sent now; commands stay.
    pub fn take_messages(&mut self) -> Vec<String> {
        let (commands, messages): (VecDeque<Entry>, VecDeque<Entry>) =
            self.0.drain(..).partition(|entry| entry.is_command);
        self.0 = commands;
        messages.into_iter().map(|entry| entry.text).collect()
    }

    /// Takes everything, in the order to run it. Adjacent messages are together: they are about the
    /// same turn, and with a turn for each, the first would be answered without the others.
    pub fn take_all(&mut self) -> Vec<Vec<String>> {
        let mut all: Vec<Vec<String>> = Vec::new();
        let mut joins = false;
        for Entry { text, is_command } in self.0.drain(..) {
            // A misspelled command stays separate: it is refused, and a message joined to it would
            // be lost. Mentions are read in the first message of a turn.
            let has_mention = text.split_whitespace().any(|word| word.starts_with(['#', '@']));
            let is_plain = !is_command && !text.starts_with('/');
            match all.last_mut().filter(|_| joins && is_plain && !has_mention) {
                Some(last) => last.push(text),
                None => all.push(vec![text]),
            }
            joins = is_plain;
        }
        all
    }

    /// Returns the texts without taking them.
    pub fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|entry| entry.text.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(lines: &[&str]) -> Queue {
        let mut queue = Queue::default();
        for line in lines {
            match line.strip_prefix("! ") {
                Some(command) => queue.push_command(command),
                None => queue.push_message(line),
            }
        }
        queue
    }

    #[test]
    fn adjacent_messages_are_together_and_commands_keep_their_place() {
        let mut queue =
            queue(&["in UTC", "and short", "! /status", "thanks", "! /undo", "! /todos"]);
        let all = queue.take_all();
        assert_eq!(all[0], ["in UTC", "and short"]);
        assert_eq!(all[1..].concat(), ["/status", "thanks", "/undo", "/todos"]);
        assert!(queue.texts().is_empty());
    }

    #[test]
    fn a_misspelled_command_and_a_mention_are_apart() {
        let all = queue(&["a", "/hlep", "b", "c", "see #notes.md", "d"]).take_all();
        let sizes: Vec<usize> = all.iter().map(Vec::len).collect();
        assert_eq!(
            (sizes.as_slice(), all[3].join("|").as_str()),
            ([1, 1, 2, 2].as_slice(), "see #notes.md|d")
        );
    }

    #[test]
    fn messages_are_taken_and_commands_wait() {
        let mut queue = queue(&["a", "! /status", "b"]);
        assert_eq!(queue.take_messages(), ["a", "b"]);
        assert_eq!(queue.texts(), ["/status"]);
    }
}
