//! What Anthropic's endpoint refuses. Stated on the JSON itself, apart from the code that writes it.

use std::collections::HashSet;

use waterline::json::{self, Fields};
use waterline::validity::Violation;

use crate::wire::read::kind;

pub(super) fn check(messages: &[&str]) -> Vec<Violation> {
    let mut checker = Checker::default();
    for (at, message) in messages.iter().enumerate() {
        checker.message(at, message);
    }
    let end = messages.len().saturating_sub(1);
    if !checker.calls.is_empty() {
        let text = format!("calls without a result: {}", checker.calls.join(", "));
        checker.report(end, "V2", text);
    }
    if messages.is_empty() {
        checker.report(0, "V6", "there is no message");
    }
    checker.found
}

#[derive(Default)]
struct Checker {
    role: String,
    /// Calls of the message before.
    calls: Vec<String>,
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
        let role = fields.get("role").and_then(json::string).map(|loose| loose.text).unwrap_or_default();
        match role.as_str() {
            "assistant" if at == 0 && !message.contains("\"compaction\"") => {
                self.report(at, "V4", "the first message is not the user's")
            }
            "user" | "assistant" => {}
            // Which models take it, and where, is the model's matter; here it only must not come first or split a step.
            "system" if at > 0 && self.calls.is_empty() => return,
            other => self.report(at, "V5", format!("the role {other:?} is not allowed here")),
        }
        if role == self.role {
            self.report(at, "V5", format!("two {role} messages in a row"));
        }
        let blocks = self.blocks(at, fields.get("content"));
        self.results(at, &blocks);
        self.calls = self.calls_of(at, &blocks);
        self.role = role;
    }

    fn blocks<'a>(&mut self, at: usize, content: Option<&'a str>) -> Vec<Fields<'a>> {
        let content = content.unwrap_or("null");
        if let Some(text) = json::string(content) {
            if text.text.trim().is_empty() {
                self.report(at, "V6", "an empty message");
            }
            return Vec::new();
        }
        let blocks: Vec<Fields<'a>> =
            json::elements(content).unwrap_or_default().into_iter().filter_map(Fields::parse).collect();
        if blocks.is_empty() {
            self.report(at, "V6", "an empty message");
        }
        let blank = |block: &Fields<'_>| {
            let text = block.get("text").and_then(json::string);
            kind(block) == "text" && text.is_none_or(|text| text.text.trim().is_empty())
        };
        if blocks.iter().any(blank) {
            self.report(at, "V6", "a blank text block");
        }
        blocks
    }

    fn results(&mut self, at: usize, blocks: &[Fields<'_>]) {
        let mut open = std::mem::take(&mut self.calls);
        let mut others = false;
        for block in blocks {
            if kind(block) != "tool_result" {
                others = true;
                continue;
            }
            if others {
                self.report(at, "V5", "something stands before a tool_result");
                others = false;
            }
            let id = block.get("tool_use_id").and_then(json::string).map(|loose| loose.text).unwrap_or_default();
            match open.iter().position(|call| *call == id) {
                Some(call) => {
                    open.remove(call);
                }
                None => self.report(at, "V1", format!("a result for {id:?}, which the message before does not call")),
            }
        }
        if !open.is_empty() {
            self.report(at, "V2", format!("calls without a result: {}", open.join(", ")));
        }
    }

    fn calls_of(&mut self, at: usize, blocks: &[Fields<'_>]) -> Vec<String> {
        let mut calls = Vec::new();
        for block in blocks.iter().filter(|block| kind(block) == "tool_use") {
            let id = block.get("id").and_then(json::string).map(|loose| loose.text).unwrap_or_default();
            if id.is_empty() || !self.used.insert(id.clone()) {
                self.report(at, "V3", format!("the call id {id:?} is empty or used twice"));
            }
            calls.push(id);
        }
        calls
    }
}
