//! What was typed while the agent works, in its order: words that the turn may still hear, and
//! commands for behind it.

use std::collections::VecDeque;

/// What waits.
#[derive(Debug, Default)]
pub struct Queue(VecDeque<Waits>);

#[derive(Debug)]
struct Waits {
    text: String,
    is_command: bool,
}

impl Queue {
    /// Words for the agent.
    pub fn say(&mut self, text: &str) {
        self.0.push_back(Waits { text: text.to_owned(), is_command: false });
    }

    /// A command.
    pub fn command(&mut self, text: &str) {
        self.0.push_back(Waits { text: text.to_owned(), is_command: true });
    }

    /// Takes the words, which are heard now; commands stay.
    pub fn heard(&mut self) -> Vec<String> {
        let (commands, words): (VecDeque<Waits>, VecDeque<Waits>) =
            self.0.drain(..).partition(|waits| waits.is_command);
        self.0 = commands;
        words.into_iter().map(|waits| waits.text).collect()
    }

    /// Takes everything, as it is to be carried out. Words that nothing stands between are one
    /// message: they were said about one turn, and a turn for each would answer the first without
    /// the others.
    pub fn rest(&mut self) -> Vec<String> {
        let mut rest: Vec<String> = Vec::new();
        let mut joins = false;
        for Waits { text, is_command } in self.0.drain(..) {
            // What only looks like a command stays by itself: it would take others along when it is
            // refused.
            let is_plain = !is_command && !text.starts_with('/');
            match rest.last_mut().filter(|_| joins && is_plain) {
                Some(last) => {
                    last.push('\n');
                    last.push_str(&text);
                }
                None => rest.push(text),
            }
            joins = is_plain;
        }
        rest
    }

    /// What waits, to be looked at.
    pub fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|waits| waits.text.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(lines: &[&str]) -> Queue {
        let mut queue = Queue::default();
        for line in lines {
            match line.strip_prefix("! ") {
                Some(command) => queue.command(command),
                None => queue.say(line),
            }
        }
        queue
    }

    #[test]
    fn words_become_one_message_and_commands_keep_their_place() {
        let mut queue =
            queue(&["in UTC", "and short", "! /status", "thanks", "! /undo", "! /todos"]);
        assert_eq!(queue.rest(), ["in UTC\nand short", "/status", "thanks", "/undo", "/todos"]);
        assert!(queue.texts().is_empty());
    }

    #[test]
    fn what_only_looks_like_a_command_takes_nothing_along() {
        assert_eq!(queue(&["a", "/hlep", "b", "c"]).rest(), ["a", "/hlep", "b\nc"]);
    }

    #[test]
    fn words_are_heard_and_commands_wait() {
        let mut queue = queue(&["a", "! /status", "b"]);
        assert_eq!(queue.heard(), ["a", "b"]);
        assert_eq!(queue.texts(), ["/status"]);
    }
}
