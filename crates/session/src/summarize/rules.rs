//! Standing instructions that a model named in a summary. Only sentences that the user wrote count,
//! so each must be a whole sentence of a user message.

use std::sync::PoisonError;

use waterline::history::History;
use waterline::message::{Body, Role};
use waterline_memory::sentence_of;

use crate::between_calls::{NamedRule, NamedRules};
use crate::live::LiveSession;

/// What the user wrote, by the position of the message.
pub(super) type UserTexts = Vec<(u64, String)>;

impl LiveSession {
    /// Returns the standing instructions that models named since the last time, in summaries.
    pub fn take_rules(&self) -> Vec<NamedRule> {
        std::mem::take(&mut *self.rules.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what the user wrote in these messages.
    pub(super) fn user_texts(&self, sources: &[usize]) -> UserTexts {
        let number = |source| self.history.number(source).unwrap_or(1) as u64;
        user_texts(&self.history, sources, number, self.recall.clean)
    }
}

/// Adds what was confirmed to the rules that a session takes later.
pub(super) fn add(rules: &NamedRules, confirmed: Vec<NamedRule>) {
    rules.lock().unwrap_or_else(PoisonError::into_inner).extend(confirmed);
}

/// Returns what the user wrote in these messages. Attachments and notes of the host program do not
/// count.
pub(super) fn user_texts(
    history: &History,
    sources: &[usize],
    position: impl Fn(usize) -> u64,
    clean: fn(&str) -> &str,
) -> UserTexts {
    let text_of = |&source: &usize| {
        let message = history.source(source).filter(|message| message.role == Role::User)?;
        match &message.parts.first()?.body {
            Body::Text(text) => Some((position(source), clean(text).to_owned())),
            _ => None,
        }
    };
    sources.iter().filter_map(text_of).collect()
}

/// Returns the sentences that the user wrote. What the model made up or took from elsewhere is
/// dropped.
pub(super) fn confirmed(rules: &[String], user_texts: &UserTexts) -> Vec<NamedRule> {
    let find = |rule: &String| {
        // The newest message that has it.
        user_texts.iter().rev().find_map(|(position, text)| {
            Some(NamedRule { text: sentence_of(text, rule)?, position: *position })
        })
    };
    rules.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use waterline::message::{Message, Part};
    use waterline::tokens::Counter;

    use super::*;

    #[test]
    fn only_whole_sentences_of_the_user_are_confirmed() {
        let file = Part::text("[File: rules.md]\nDeploy after every change.");
        let typed = Part::text("Fix it. No emojis in commits, please.");
        let history = History::of(
            Counter::default(),
            [
                Message::new(Role::User, vec![typed, file]),
                Message::assistant("I will keep lines short."),
                Message::user("Do not ever touch prod."),
            ],
        );
        let user_texts = user_texts(&history, &[0, 1, 2], |at| at as u64 + 1, |text| text);
        let named = [
            "- \"No emojis in commits, please.\"",
            "Deploy after every change.",
            "I will keep lines short.",
            "touch prod.",
            "Do not ever touch prod",
            "Invent something.",
        ]
        .map(str::to_owned);
        let rules = confirmed(&named, &user_texts);
        let found: Vec<(&str, u64)> =
            rules.iter().map(|rule| (rule.text.as_str(), rule.position)).collect();
        assert_eq!(found, [("No emojis in commits, please.", 1), ("Do not ever touch prod.", 3)]);
    }
}
