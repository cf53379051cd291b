//! Shared by the checkers: collects violations, and tracks which calls still wait for a result.

use std::collections::HashSet;

use waterline::json::Fields;
use waterline::phrase;
use waterline::phrase::Phrase;
use waterline::validity::Violation;

/// The violations found so far in a list of messages.
#[derive(Default)]
pub(super) struct Findings {
    found: Vec<Violation>,
    /// Calls that wait for a result.
    open: Vec<String>,
    used: HashSet<String>,
}

impl Findings {
    pub(super) fn report(&mut self, at: usize, rule: &'static str, text: Phrase) {
        self.found.push(Violation::new(at, rule, text));
    }

    /// Parses the fields of a message; reports anything but an object.
    pub(super) fn object<'a>(&mut self, at: usize, json: &'a str) -> Option<Fields<'a>> {
        let fields = Fields::parse(json);
        if fields.is_none() {
            self.report(at, "V6", phrase!("violation-not-an-object", "not a message object"));
        }
        fields
    }

    /// Records a call that now waits for its result.
    pub(super) fn call(&mut self, at: usize, id: String) {
        if id.is_empty() {
            self.report(at, "V3", phrase!("violation-no-call-id", "a call without an id"));
        } else if !self.used.insert(id.clone()) {
            self.report(
                at,
                "V3",
                phrase!("violation-repeated-call-id", "the call id {id:?} is used twice", id = &id),
            );
        }
        self.open.push(id);
    }

    /// Records the result of a waiting call.
    pub(super) fn result(&mut self, at: usize, id: &str) {
        match self.open.iter().position(|open| open == id) {
            Some(call) => {
                self.open.remove(call);
            }
            None => self.report(
                at,
                "V1",
                phrase!(
                    "violation-result-without-call",
                    "a result for {id:?} without a call right before it",
                    id = id
                ),
            ),
        }
    }

    /// Reports the calls that still wait: no result may follow from here.
    pub(super) fn close(&mut self, at: usize) {
        if !self.open.is_empty() {
            let text = phrase!(
                "violation-unanswered",
                "calls without a result: {ids}",
                ids = self.open.join(", ")
            );
            self.open.clear();
            self.report(at, "V2", text);
        }
    }

    /// Whether a call still waits for its result.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns all violations of a list of `count` messages.
    pub(super) fn end(mut self, count: usize) -> Vec<Violation> {
        self.close(count.saturating_sub(1));
        if count == 0 {
            self.report(0, "V6", phrase!("violation-no-messages", "no messages"));
        }
        self.found
    }
}
