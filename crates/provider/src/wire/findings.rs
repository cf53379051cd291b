//! What the checkers share: collecting violations, and keeping track of which calls wait for a
//! result.

use std::collections::HashSet;

use waterline::json::Fields;
use waterline::validity::Violation;

/// What was found so far in a list of messages.
#[derive(Default)]
pub(super) struct Findings {
    found: Vec<Violation>,
    /// Calls that wait for a result.
    open: Vec<String>,
    used: HashSet<String>,
}

impl Findings {
    pub(super) fn report(&mut self, at: usize, rule: &'static str, text: impl Into<String>) {
        self.found.push(Violation { at, rule, text: text.into() });
    }

    /// The fields of a message; anything but an object is a finding.
    pub(super) fn object<'a>(&mut self, at: usize, json: &'a str) -> Option<Fields<'a>> {
        let fields = Fields::parse(json);
        if fields.is_none() {
            self.report(at, "V6", "not a message object");
        }
        fields
    }

    /// A call begins to wait.
    pub(super) fn call(&mut self, at: usize, id: String) {
        if id.is_empty() {
            self.report(at, "V3", "a call without an id");
        } else if !self.used.insert(id.clone()) {
            self.report(at, "V3", format!("the call id {id:?} is used twice"));
        }
        self.open.push(id);
    }

    /// A result answers a call that waits.
    pub(super) fn result(&mut self, at: usize, id: &str) {
        match self.open.iter().position(|open| open == id) {
            Some(call) => {
                self.open.remove(call);
            }
            None => {
                self.report(at, "V1", format!("a result for {id:?} without a call right before it"))
            }
        }
    }

    /// From here on no result may come: whatever waits was not answered.
    pub(super) fn close(&mut self, at: usize) {
        if !self.open.is_empty() {
            let text = format!("calls without a result: {}", self.open.join(", "));
            self.open.clear();
            self.report(at, "V2", text);
        }
    }

    /// Whether a call waits.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Everything that was found in a list of `count` messages.
    pub(super) fn end(mut self, count: usize) -> Vec<Violation> {
        self.close(count.saturating_sub(1));
        if count == 0 {
            self.report(0, "V6", "there is no message");
        }
        self.found
    }
}
