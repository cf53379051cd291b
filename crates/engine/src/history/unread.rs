//! Unread messages: those of a very long conversation that are too old to be sent. A fold needs
//! their roles and token counts, but not their texts, so they are not loaded.

use super::atom::AtomKind;
use super::{Entry, History};
use crate::message::Role;

impl History {
    /// Appends a message without its text. It is never sent.
    pub fn append_unread(&mut self, role: Role, tokens: usize) {
        let index = self.len();
        let atom = self.open_atom(AtomKind::Unread, index);
        if let Some(atom) = self.atoms.get_mut(atom) {
            atom.tokens = tokens;
        }
        self.tokens += tokens;
        self.calls += usize::from(role == Role::Assistant);
        self.unread += 1;
        self.unread_tokens += tokens;
        self.entries.push(Entry { message: None, repaired: None, tokens, atom });
    }

    /// Returns whether some messages were appended without their texts.
    #[must_use]
    pub const fn has_unread(&self) -> bool {
        self.unread > 0
    }

    /// Returns the tokens of the messages that were appended with their texts.
    #[must_use]
    pub const fn read_tokens(&self) -> usize {
        self.tokens.saturating_sub(self.unread_tokens)
    }

    /// Adds values that an earlier ledger listed and that no message with a text mentions, as if
    /// the newest unread message did. The next ledger lists only values of messages that are not
    /// shown, and an unread message never is.
    pub fn remember_values<'a>(&mut self, listed: impl IntoIterator<Item = &'a str>) {
        let newest = self.entries.iter().rposition(|entry| entry.message.is_none());
        if let Some(newest) = newest {
            let index = self.past.messages + newest;
            listed.into_iter().for_each(|value| self.values.remember(index, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::tokens::Counter;

    #[test]
    fn unread_messages_count_but_have_no_text() {
        let mut history = History::new(Counter::default());
        history.append(Message::user("the task"));
        history.append_unread(Role::Assistant, 100);
        history.append_unread(Role::User, 50);
        history.append(Message::assistant("newest_answer"));
        assert_eq!(history.len(), 4);
        assert!(history.tokens() > 150);
        assert!(history.message(1).is_none() && history.source(2).is_none());
        assert_eq!(history.message(3).map(Message::text).as_deref(), Some("newest_answer"));
        assert!(!history.atom(1).is_some_and(super::super::Atom::is_sendable));
    }

    #[test]
    fn values_of_an_earlier_ledger_stay_known() {
        let mut history = History::new(Counter::default());
        history.append_unread(Role::User, 50);
        history.append(Message::user("go on"));
        history.remember_values(["src/old_file.rs"]);
        assert!(history.values().get("src/old_file.rs").is_some());
    }

    /// A newer mention decides whether a value is shown and how well it ranks.
    #[test]
    fn what_is_known_about_a_value_of_a_newer_message_stays() {
        let mut history = History::new(Counter::default());
        history.append(Message::user("the task"));
        history.append_unread(Role::User, 50);
        history.append(Message::user("see src/new_file.rs"));
        let known = history.values().get("src/new_file.rs").copied();
        history.remember_values(["src/new_file.rs", "src/old_file.rs"]);
        assert_eq!(history.values().get("src/new_file.rs").copied(), known);
        assert_eq!(history.values().get("src/old_file.rs").map(|seen| seen.last), Some(1));
    }
}
