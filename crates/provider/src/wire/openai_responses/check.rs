//! What the Responses endpoint refuses. Stated on the JSON itself, apart from the code that writes it.

use std::collections::HashSet;

use waterline::json::{self, Fields};
use waterline::validity::Violation;

use crate::wire::read::kind;

pub(super) fn check(items: &[&str]) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, item) in items.iter().enumerate() {
        checker.item(at, item);
    }
    let end = items.len().saturating_sub(1);
    if !checker.open.is_empty() {
        let text = format!("no output for call {}", checker.open.join(", "));
        checker.report(end, "V2", text);
    }
    if checker.reasoning {
        checker.report(end, "V2", "reasoning without the item it produced");
    }
    if items.is_empty() {
        checker.report(0, "V6", "there is no item");
    }
    checker.found
}

#[derive(Default)]
struct Checker {
    open: Vec<String>,
    used: HashSet<String>,
    /// The item before was reasoning.
    reasoning: bool,
    found: Vec<Violation>,
}

impl Checker {
    fn report(&mut self, at: usize, rule: &'static str, text: impl Into<String>) {
        self.found.push(Violation { at, rule, text: text.into() });
    }

    fn item(&mut self, at: usize, item: &str) {
        if json::string(item).is_some() {
            return;
        }
        let Some(fields) = Fields::parse(item) else {
            self.report(at, "V6", "not an item");
            return;
        };
        let word = |name: &str| fields.get(name).and_then(json::string).map(|loose| loose.text).unwrap_or_default();
        let kind = kind(&fields);
        let id = word("call_id");
        match kind.as_str() {
            "function_call" | "custom_tool_call" => {
                if id.is_empty() || !self.used.insert(id.clone()) {
                    self.report(at, "V3", format!("the call id {id:?} is empty or used twice"));
                }
                self.open.push(id);
            }
            "function_call_output" | "custom_tool_call_output" => match self.open.iter().position(|open| *open == id) {
                Some(call) => {
                    self.open.remove(call);
                }
                None => self.report(at, "V1", format!("no call found for the output of {id:?}")),
            },
            "" | "message" => self.message(at, &word("role"), fields.get("content")),
            _ => {}
        }
        let outcome =
            matches!(kind.as_str(), "function_call_output" | "custom_tool_call_output") || word("role") == "user";
        if self.reasoning && outcome {
            self.report(at, "V2", "reasoning without the item it produced");
        }
        self.reasoning = kind == "reasoning";
    }

    fn message(&mut self, at: usize, role: &str, content: Option<&str>) {
        if !matches!(role, "user" | "assistant" | "system" | "developer") {
            self.report(at, "V6", format!("the role {role:?} is unknown"));
        }
        if role == "user" && !self.open.is_empty() {
            let text = format!("no output for call {}", self.open.join(", "));
            self.open.clear();
            self.report(at, "V2", text);
        }
        let content = content.unwrap_or("null");
        let empty = match json::string(content) {
            Some(text) => text.text.trim().is_empty(),
            None => json::elements(content).is_none_or(|list| list.is_empty()),
        };
        if empty {
            self.report(at, "V6", format!("an empty {role} message"));
        }
    }
}
