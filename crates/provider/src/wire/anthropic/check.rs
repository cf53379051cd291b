//! What Anthropic's endpoint refuses. Stated on the JSON itself, apart from the code that writes
//! it.

use waterline::json::{self, Fields};
use waterline::validity::Violation;

use crate::wire::findings::Findings;
use crate::wire::read::kind;

pub(super) fn check(messages: &[&str]) -> Vec<Violation> {
    let mut findings = Findings::default();
    let mut before = String::new();
    let mut breakpoints = 0;
    for (at, json) in messages.iter().enumerate() {
        let Some(fields) = findings.object(at, json) else { continue };
        let role = word(&fields, "role");
        if role == "system" && at > 0 && !findings.is_open() {
            // Which models take it, and where, is the model's matter; it must not come first or
            // split a step.
            continue;
        }
        let blocks = blocks(&mut findings, at, fields.get("content"));
        let compaction = at == 0 && blocks.first().is_some_and(|block| kind(block) == "compaction");
        self::role(&mut findings, at, &role, &before);
        if at == 0 && role == "assistant" && !compaction {
            findings.report(at, "V4", "the first message is not the user's");
        }
        results(&mut findings, at, &blocks);
        for block in &blocks {
            self::block(&mut findings, at, block);
            breakpoints +=
                usize::from(block.get("cache_control").is_some_and(|value| !json::is_null(value)));
        }
        before = role;
    }
    if breakpoints > MOST_BREAKPOINTS {
        findings.report(
            messages.len().saturating_sub(1),
            "A15",
            format!("{breakpoints} cache breakpoints, {MOST_BREAKPOINTS} are allowed"),
        );
    }
    findings.end(messages.len())
}

const MOST_BREAKPOINTS: usize = 4;

/// What is wrong with one block by itself.
fn block(findings: &mut Findings, at: usize, block: &Fields<'_>) {
    match kind(block).as_str() {
        "tool_use" => {
            findings.call(at, word(block, "id"));
            if !block.get("input").is_some_and(json::is_object) {
                findings.report(at, "A4", "the input of a call is no object");
            }
        }
        "thinking" if word(block, "signature").is_empty() => {
            findings.report(at, "A11", "thinking without a signature");
        }
        "tool_result"
            if block.get("is_error") == Some("true")
                && !block.get("content").is_some_and(says_something) =>
        {
            findings.report(at, "V6", "a failed result without a word");
        }
        _ => {}
    }
}

fn says_something(content: &str) -> bool {
    json::string(content).map_or_else(
        || json::elements(content).is_some_and(|list| !list.is_empty()),
        |text| !text.text.trim().is_empty(),
    )
}

fn word(fields: &Fields<'_>, name: &str) -> String {
    fields.get(name).and_then(json::string).map(|loose| loose.text).unwrap_or_default()
}

fn role(findings: &mut Findings, at: usize, role: &str, before: &str) {
    if role != "user" && role != "assistant" {
        findings.report(at, "V5", format!("the role {role:?} is not allowed here"));
    }
    if role == before {
        findings.report(at, "V5", format!("two {role} messages in a row"));
    }
}

fn blocks<'a>(findings: &mut Findings, at: usize, content: Option<&'a str>) -> Vec<Fields<'a>> {
    let content = content.unwrap_or("null");
    if let Some(text) = json::string(content) {
        if text.text.trim().is_empty() {
            findings.report(at, "V6", "an empty message");
        }
        return Vec::new();
    }
    let blocks: Vec<Fields<'a>> =
        json::elements(content).unwrap_or_default().into_iter().filter_map(Fields::parse).collect();
    if blocks.is_empty() {
        findings.report(at, "V6", "an empty message");
    }
    if blocks.iter().any(|block| kind(block) == "text" && word(block, "text").trim().is_empty()) {
        findings.report(at, "V6", "a blank text block");
    }
    blocks
}

/// The results of the calls before stand in this message, all of them, before anything else.
fn results(findings: &mut Findings, at: usize, blocks: &[Fields<'_>]) {
    let mut others = false;
    for block in blocks {
        if kind(block) != "tool_result" {
            others = true;
            continue;
        }
        if std::mem::take(&mut others) {
            findings.report(at, "V5", "something stands before a tool_result");
        }
        findings.result(at, &word(block, "tool_use_id"));
    }
    findings.close(at);
}
