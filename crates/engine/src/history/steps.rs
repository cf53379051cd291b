//! Finds the steps of a conversation: model calls with their results.

use super::atom::{Atom, AtomKind};

/// What the current step consists of so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Current {
    /// There is none, or an answer has ended it.
    Ended,
    /// User messages that no model call has answered yet.
    Asked,
    /// A model call with its results.
    Called,
}

/// Returns the atoms that open a step, oldest first.
pub(super) fn find(atoms: &[Atom]) -> Vec<usize> {
    let mut steps = Vec::new();
    let mut current = Current::Ended;
    for (at, atom) in atoms.iter().enumerate() {
        let (opens, next) = match atom.kind {
            AtomKind::User => (current != Current::Asked, Current::Asked),
            AtomKind::Exchange => (current != Current::Asked, Current::Called),
            AtomKind::Reply => (current == Current::Ended, Current::Ended),
            AtomKind::System
            | AtomKind::Thought
            | AtomKind::Orphan
            | AtomKind::Empty
            | AtomKind::Unread => continue,
        };
        if opens {
            steps.push(at);
        }
        current = next;
    }
    steps
}

#[cfg(test)]
mod tests {
    use crate::history::History;
    use crate::message::{Message, ToolCall};
    use crate::tokens::Counter;

    fn exchange(id: usize) -> [Message; 2] {
        let id = format!("c{id}");
        [
            Message::assistant_with_calls("", [ToolCall::new(&id, "look", "{}")]),
            Message::tool_result(&id, "done"),
        ]
    }

    fn count(messages: Vec<Message>) -> usize {
        History::of(Counter::default(), messages).steps().len()
    }

    /// C1.1: a step is a model call with its results, not a turn of the user.
    #[test]
    fn c1_1_a_model_call_with_its_results_is_one_step() {
        let turn = |id| {
            let mut turn = vec![Message::user("look")];
            turn.extend(exchange(id));
            turn.push(Message::assistant("seen"));
            turn
        };
        assert_eq!(count((0..4).flat_map(turn).collect()), 4);
        let mut alone = vec![Message::user("work")];
        alone.extend((0..88).flat_map(exchange));
        assert_eq!(count(alone), 88);
    }

    #[test]
    fn user_messages_in_a_row_open_one_step_and_answers_without_calls_end_it() {
        let talk = |texts: &[&str]| {
            let message = |text: &&str| match text.strip_prefix('>') {
                Some(text) => Message::assistant(text),
                None => Message::user(*text),
            };
            count(texts.iter().map(message).collect())
        };
        assert_eq!(talk(&["a", "b", ">c", "d", ">e"]), 2);
        assert_eq!(talk(&[">hello", "a", ">b", ">c"]), 3);
    }
}
