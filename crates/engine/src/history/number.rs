//! The numbers by which people refer to messages: counted from 1, without the system prompt. An
//! index, in contrast, counts every message of the history from 0.

use super::History;

impl History {
    /// Sets where the numbers start, for a history that is only the end of a conversation. `before`
    /// is the number of the last message before it. `prompts` is how many system messages it starts
    /// with; a history that is loaded as a whole finds them itself.
    pub const fn set_numbering(&mut self, before: usize, prompts: usize) {
        self.numbered_before = before;
        self.past_prompts = prompts;
    }

    /// Returns how many messages at the start are the system prompt.
    const fn prompts(&self) -> usize {
        if self.is_whole() { self.system_prefix } else { self.past_prompts }
    }

    /// Returns the number of a message; `None` for the system prompt.
    #[must_use]
    pub const fn number(&self, index: usize) -> Option<usize> {
        match index.checked_sub(self.prompts()) {
            Some(earlier) => Some(self.numbered_before + earlier + 1),
            None => None,
        }
    }

    /// Returns the index of the message with this number; `None` if the history does not have it.
    #[must_use]
    pub fn index_of(&self, number: usize) -> Option<usize> {
        let index = number.checked_sub(self.numbered_before + 1)? + self.prompts();
        (index < self.len()).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::tokens::Counter;

    fn history() -> History {
        let messages = [Message::system("be brief"), Message::user("a"), Message::assistant("b")];
        History::of(Counter::default(), messages)
    }

    #[test]
    fn system_prompt_has_no_number() {
        let history = history();
        assert_eq!([0, 1, 2].map(|index| history.number(index)), [None, Some(1), Some(2)]);
        let indexes = [0, 1, 2, 3].map(|number| history.index_of(number));
        assert_eq!(indexes, [None, Some(1), Some(2), None]);
    }

    #[test]
    fn numbers_continue_after_a_clear_mark() {
        let mut history = history();
        history.set_numbering(4, 1);
        assert_eq!([0, 1, 2].map(|index| history.number(index)), [None, Some(5), Some(6)]);
        let indexes = [4, 5, 6, 7].map(|number| history.index_of(number));
        assert_eq!(indexes, [None, Some(1), Some(2), None]);
    }
}
