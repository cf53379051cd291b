//! What Gemini's endpoint refuses. Stated on the JSON itself, apart from the code that writes it.

use waterline::json::{self, Fields};
use waterline::validity::Violation;

pub(super) fn check(contents: &[&str]) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, content) in contents.iter().enumerate() {
        checker.content(at, content);
    }
    if !checker.calls.is_empty() {
        let text = format!("calls without a response: {}", checker.calls.join(", "));
        checker.report(contents.len().saturating_sub(1), "V2", text);
    }
    if contents.is_empty() {
        checker.report(0, "V6", "there is no content");
    }
    checker.found
}

#[derive(Default)]
struct Checker {
    role: String,
    /// The names that the turn before called.
    calls: Vec<String>,
    found: Vec<Violation>,
}

impl Checker {
    fn report(&mut self, at: usize, rule: &'static str, text: impl Into<String>) {
        self.found.push(Violation { at, rule, text: text.into() });
    }

    fn content(&mut self, at: usize, content: &str) {
        let Some(fields) = Fields::parse(content) else {
            self.report(at, "V6", "not a content object");
            return;
        };
        let role = fields.get("role").and_then(json::string).map_or_else(|| "user".to_owned(), |loose| loose.text);
        let role = if role == "function" { "user".to_owned() } else { role };
        if at == 0 && role != "user" {
            self.report(at, "V4", "the first turn is not the user's");
        }
        if role != "user" && role != "model" {
            self.report(at, "V6", format!("the role {role:?} is unknown"));
        }
        if role == self.role {
            self.report(at, "V5", format!("two {role} turns in a row"));
        }
        let parts: Vec<Fields<'_>> = fields
            .get("parts")
            .and_then(json::elements)
            .unwrap_or_default()
            .into_iter()
            .filter_map(Fields::parse)
            .collect();
        if parts.is_empty() {
            self.report(at, "V6", "a turn without parts");
        }
        self.responses(at, &names(&parts, "functionResponse"));
        self.calls = names(&parts, "functionCall");
        self.role = role;
    }

    fn responses(&mut self, at: usize, responses: &[String]) {
        let mut open = std::mem::take(&mut self.calls);
        for name in responses {
            match open.iter().position(|call| call == name) {
                Some(call) => {
                    open.remove(call);
                }
                None => self.report(at, "V1", format!("a response of {name:?}, which the turn before does not call")),
            }
        }
        if !open.is_empty() {
            self.report(at, "V2", format!("calls without a response: {}", open.join(", ")));
        }
    }
}

fn names(parts: &[Fields<'_>], kind: &str) -> Vec<String> {
    let inner = parts.iter().filter_map(|part| part.get(kind).and_then(Fields::parse));
    inner.map(|fields| fields.get("name").and_then(json::string).map(|loose| loose.text).unwrap_or_default()).collect()
}
