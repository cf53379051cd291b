//! Checks the rules that hold on every wire (section D of the requirements). It runs on neutral
//! messages after every plan, in release builds too. The provider crate checks the rules of single
//! wires.

use std::fmt;

use rustc_hash::FxHashSet;

use crate::message::{Body, Message, Role};
use crate::phrase;
use crate::phrase::Phrase;

/// A rule that a list of messages violates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The index of the message in the list.
    pub at: usize,
    /// The number of the rule in the requirements.
    pub rule: &'static str,
    /// What is wrong, for people.
    pub text: Phrase,
}

impl Violation {
    /// Creates a violation of a rule by the message at this index.
    #[must_use]
    pub const fn new(at: usize, rule: &'static str, text: Phrase) -> Self {
        Self { at, rule, text }
    }

    /// Returns it with the number of its message.
    #[must_use]
    pub fn phrase(&self) -> Phrase {
        phrase!(
            "violation-at",
            "message {number}: {text} ({rule})",
            // People count messages from 1.
            number = (self.at + 1).to_string(),
            text = self.text.clone(),
            rule = self.rule
        )
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.phrase().fmt(f)
    }
}

/// Checks calls and results (V1, V2, V3) and emptiness (V6).
pub fn check<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, message) in messages.into_iter().enumerate() {
        checker.message(at, message);
    }
    checker.close(checker.count);
    checker.found
}

#[derive(Default)]
struct Checker<'a> {
    open: Vec<&'a str>,
    /// Whether a result came after the last call. Until then more calls may follow.
    answering: bool,
    used: FxHashSet<&'a str>,
    found: Vec<Violation>,
    count: usize,
}

impl<'a> Checker<'a> {
    fn report(&mut self, at: usize, rule: &'static str, text: Phrase) {
        self.found.push(Violation { at, rule, text });
    }

    fn message(&mut self, at: usize, message: &'a Message) {
        self.count = at + 1;
        if message.parts.is_empty() {
            self.report(at, "V6", phrase!("violation-empty-message", "an empty message"));
        }
        if message.texts().any(|text| text.trim().is_empty()) {
            self.report(at, "V6", phrase!("violation-blank-text", "a blank text part"));
        }
        for result in message.results() {
            match self.open.iter().position(|id| *id == result.call_id) {
                Some(call) => {
                    self.open.remove(call);
                }
                None => self.report(
                    at,
                    "V1",
                    phrase!(
                        "violation-no-open-call",
                        "a result for {id:?}, but there is no open call with this id",
                        id = &result.call_id
                    ),
                ),
            }
            self.answering = true;
        }
        let has_other_parts =
            message.parts.iter().any(|part| !matches!(part.body, Body::Result(_)));
        let ends_step =
            message.role == Role::Assistant || message.role == Role::System || has_other_parts;
        let continues = message.role == Role::Assistant && !self.answering;
        if ends_step && !continues {
            self.close(at);
        }
        for call in message.calls() {
            if call.id.is_empty() || !self.used.insert(&call.id) {
                let text = phrase!(
                    "violation-call-id",
                    "the call id {id:?} is empty or used twice",
                    id = &call.id
                );
                self.report(at, "V3", text);
            }
            self.open.push(&call.id);
            self.answering = false;
        }
    }

    fn close(&mut self, at: usize) {
        if !self.open.is_empty() {
            let text = phrase!(
                "violation-unanswered",
                "calls without a result: {ids}",
                ids = self.open.join(", ")
            );
            self.report(at.saturating_sub(1), "V2", text);
            self.open.clear();
        }
        self.answering = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;

    fn rules(messages: &[Message]) -> Vec<&'static str> {
        check(messages).into_iter().map(|violation| violation.rule).collect()
    }

    fn user(text: &str) -> Message {
        Message::user(text)
    }

    #[test]
    fn v1_to_v3_and_v6_are_detected() {
        let call = |id: &str| Message::assistant_with_calls("", [ToolCall::new(id, "read", "{}")]);
        let result = |id: &str| Message::tool_result(id, "ok");
        assert!(rules(&[user("hi"), call("a"), result("a"), user("thanks")]).is_empty());
        assert_eq!(rules(&[user("hi"), result("a")]), ["V1"]);
        assert_eq!(rules(&[user("hi"), call("a"), user("stop")]), ["V2"]);
        assert_eq!(rules(&[user("hi"), call("a")]), ["V2"]);
        assert_eq!(rules(&[user("hi"), call("a"), result("a"), call("a"), result("a")]), ["V3"]);
        assert_eq!(rules(&[user(" ")]), ["V6"]);
        assert!(
            rules(&[user("hi"), call("a"), call("b"), result("b"), result("a")]).is_empty(),
            "two calls in separate messages"
        );
    }
}
