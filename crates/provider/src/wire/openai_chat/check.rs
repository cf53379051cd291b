//! What OpenAI's chat endpoint refuses. Stated on the JSON itself, apart from the code that writes it.

use std::collections::HashSet;

use waterline::json::{self, Fields};
use waterline::message::Role;
use waterline::validity::Violation;

use crate::wire::read::kind;

pub(super) fn check(messages: &[&str]) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, message) in messages.iter().enumerate() {
        checker.message(at, message);
    }
    checker.close(messages.len().saturating_sub(1));
    if messages.is_empty() {
        checker.report(0, "V6", "there is no message");
    }
    checker.found
}

#[derive(Default)]
struct Checker {
    open: Vec<String>,
    used: HashSet<String>,
    found: Vec<Violation>,
}

impl Checker {
    fn report(&mut self, at: usize, rule: &'static str, text: impl Into<String>) {
        self.found.push(Violation { at, rule, text: text.into() });
    }

    fn message(&mut self, at: usize, message: &str) {
        let Some(fields) = Fields::parse(message) else {
            self.report(at, "V6", "not a message object");
            return;
        };
        let word = |name: &str| fields.get(name).and_then(json::string).map(|loose| loose.text);
        let name = word("role").unwrap_or_default();
        match super::role(&name) {
            None => self.report(at, "V6", format!("the role {name:?} is unknown")),
            Some(Role::Tool) => self.result(at, &word("tool_call_id").unwrap_or_default()),
            Some(role) => {
                self.close(at.saturating_sub(1));
                let calls = fields.get("tool_calls").and_then(json::elements).unwrap_or_default();
                if calls.is_empty() && role != Role::System && !says_something(fields.get("content")) {
                    self.report(at, "V6", format!("an empty {} message", role.name()));
                }
                self.calls(at, &calls);
            }
        }
    }

    fn result(&mut self, at: usize, id: &str) {
        match self.open.iter().position(|open| open == id) {
            Some(call) => {
                self.open.remove(call);
            }
            None => self.report(at, "V1", format!("a result for {id:?} without a call right before it")),
        }
    }

    fn calls(&mut self, at: usize, calls: &[&str]) {
        for call in calls {
            let id = Fields::parse(call)
                .and_then(|mut fields| fields.take_string("id"))
                .map(|loose| loose.text)
                .unwrap_or_default();
            if id.is_empty() {
                self.report(at, "V3", "a call without an id");
            } else if !self.used.insert(id.clone()) {
                self.report(at, "V3", format!("the call id {id:?} is used twice"));
            }
            self.open.push(id);
        }
    }

    fn close(&mut self, at: usize) {
        if !self.open.is_empty() {
            let text = format!("calls without a result: {}", self.open.join(", "));
            self.open.clear();
            self.report(at, "V2", text);
        }
    }
}

/// Whether content holds more than white space.
fn says_something(content: Option<&str>) -> bool {
    let Some(content) = content else { return false };
    if let Some(text) = json::string(content) {
        return !text.text.trim().is_empty();
    }
    json::elements(content).is_some_and(|list| {
        list.into_iter().any(|part| match Fields::parse(part) {
            Some(fields) if kind(&fields) == "text" => {
                fields.get("text").and_then(json::string).is_some_and(|t| !t.text.trim().is_empty())
            }
            Some(_) => true,
            None => json::string(part).is_some_and(|text| !text.text.trim().is_empty()),
        })
    })
}
