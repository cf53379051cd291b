//! Checks the rules of Anthropic's endpoint on the JSON itself, independent of the code that
//! renders it.

use waterline::json::{self, Fields};
use waterline::phrase;
use waterline::validity::Violation;

use crate::wire::findings::Findings;
use crate::wire::read::kind;

pub(super) fn check(messages: &[&str]) -> Vec<Violation> {
    let mut findings = Findings::default();
    let mut before = String::new();
    let mut breakpoints = 0;
    for (at, json) in messages.iter().enumerate() {
        let Some(fields) = findings.object(at, json) else { continue };
        let role = string_field(&fields, "role");
        if role == "system" && at > 0 && !findings.is_open() {
            // Whether a system message is accepted here depends on the model. It must not come
            // first or split a step.
            continue;
        }
        let blocks = blocks(&mut findings, at, fields.get("content"));
        let compaction = at == 0 && blocks.first().is_some_and(|block| kind(block) == "compaction");
        self::role(&mut findings, at, &role, &before);
        if at == 0 && role == "assistant" && !compaction {
            findings.report(
                at,
                "V4",
                phrase!("violation-first-message", "the first message is not from the user"),
            );
        }
        results(&mut findings, at, &blocks);
        for block in &blocks {
            self::block(&mut findings, at, block);
            breakpoints +=
                usize::from(block.get("cache_control").is_some_and(|value| !json::is_null(value)));
        }
        before = role;
    }
    if breakpoints > MAX_BREAKPOINTS {
        findings.report(
            messages.len().saturating_sub(1),
            "A15",
            phrase!(
                "violation-breakpoints",
                "{breakpoints} cache breakpoints; the limit is {limit}",
                breakpoints = breakpoints,
                limit = MAX_BREAKPOINTS
            ),
        );
    }
    findings.end(messages.len())
}

const MAX_BREAKPOINTS: usize = 4;

/// Checks one block by itself.
fn block(findings: &mut Findings, at: usize, block: &Fields<'_>) {
    match kind(block).as_str() {
        "tool_use" => {
            findings.call(at, string_field(block, "id"));
            if !block.get("input").is_some_and(json::is_object) {
                findings.report(
                    at,
                    "A4",
                    phrase!("violation-input", "the input of a call is not an object"),
                );
            }
        }
        "thinking" if string_field(block, "signature").is_empty() => {
            findings.report(
                at,
                "A11",
                phrase!("violation-no-signature", "thinking without a signature"),
            );
        }
        "tool_result"
            if block.get("is_error") == Some("true")
                && !block.get("content").is_some_and(is_not_blank) =>
        {
            findings.report(
                at,
                "V6",
                phrase!("violation-failed-result", "a failed result without content"),
            );
        }
        _ => {}
    }
}

fn is_not_blank(content: &str) -> bool {
    json::string(content).map_or_else(
        || json::elements(content).is_some_and(|list| !list.is_empty()),
        |text| !text.text.trim().is_empty(),
    )
}

fn string_field(fields: &Fields<'_>, name: &str) -> String {
    fields.get(name).and_then(json::string).map(|lossy| lossy.text).unwrap_or_default()
}

fn role(findings: &mut Findings, at: usize, role: &str, before: &str) {
    if role != "user" && role != "assistant" {
        findings.report(
            at,
            "V5",
            phrase!("violation-role", "the role {role:?} is not allowed here", role = role),
        );
    }
    if role == before {
        findings.report(
            at,
            "V5",
            phrase!("violation-two-in-a-row", "two {role} messages in a row", role = role),
        );
    }
}

fn blocks<'a>(findings: &mut Findings, at: usize, content: Option<&'a str>) -> Vec<Fields<'a>> {
    let content = content.unwrap_or("null");
    if let Some(text) = json::string(content) {
        if text.text.trim().is_empty() {
            findings.report(at, "V6", phrase!("violation-empty-message", "an empty message"));
        }
        return Vec::new();
    }
    let blocks: Vec<Fields<'a>> =
        json::elements(content).unwrap_or_default().into_iter().filter_map(Fields::parse).collect();
    if blocks.is_empty() {
        findings.report(at, "V6", phrase!("violation-empty-message", "an empty message"));
    }
    if blocks
        .iter()
        .any(|block| kind(block) == "text" && string_field(block, "text").trim().is_empty())
    {
        findings.report(at, "V6", phrase!("violation-blank-text-block", "a blank text block"));
    }
    blocks
}

/// All results of the preceding calls must be in this message, before any other block.
fn results(findings: &mut Findings, at: usize, blocks: &[Fields<'_>]) {
    let mut others = false;
    for block in blocks {
        if kind(block) != "tool_result" {
            others = true;
            continue;
        }
        if std::mem::take(&mut others) {
            findings.report(
                at,
                "V5",
                phrase!("violation-result-order", "a tool_result must come before other blocks"),
            );
        }
        findings.result(at, &string_field(block, "tool_use_id"));
    }
    findings.close(at);
}
