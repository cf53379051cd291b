//! Checks the rules of the Responses endpoint on the JSON itself, independent of the code that
//! renders it.

use waterline::json;
use waterline::phrase;
use waterline::validity::Violation;

use crate::wire::findings::Findings;
use crate::wire::read::kind;

pub(super) fn check(items: &[&str]) -> Vec<Violation> {
    let mut findings = Findings::default();
    let mut reasoning = false;
    for (at, item) in items.iter().enumerate() {
        if json::string(item).is_none() {
            reasoning = self::item(&mut findings, at, item, reasoning);
        }
    }
    if reasoning {
        findings.report(
            items.len().saturating_sub(1),
            "V2",
            phrase!("violation-reasoning", "reasoning without the item it produced"),
        );
    }
    findings.end(items.len())
}

/// Checks an item. `reasoning` tells whether the previous item was reasoning; the return value
/// tells the same of this one.
fn item(findings: &mut Findings, at: usize, item: &str, reasoning: bool) -> bool {
    let Some(fields) = findings.object(at, item) else { return false };
    let string_field = |name: &str| {
        fields.get(name).and_then(json::string).map(|lossy| lossy.text).unwrap_or_default()
    };
    let kind = kind(&fields);
    let produced = match kind.as_str() {
        kind if super::is_call(kind, &fields) => {
            findings.call(at, string_field("call_id"));
            true
        }
        kind if super::is_output(kind, &fields) => {
            findings.result(at, &string_field("call_id"));
            false
        }
        // A reference to an item stored by the provider.
        "" if fields.get("role").is_none() && fields.get("id").is_some() => true,
        "" | "message" => {
            message(findings, at, &string_field("role"), fields.get("content"));
            string_field("role") == "assistant"
        }
        _ => true,
    };
    if reasoning && !produced {
        findings.report(
            at,
            "V2",
            phrase!("violation-reasoning", "reasoning without the item it produced"),
        );
    }
    kind == "reasoning"
}

fn message(findings: &mut Findings, at: usize, role: &str, content: Option<&str>) {
    if !matches!(role, "user" | "assistant" | "system" | "developer") {
        findings.report(
            at,
            "V6",
            phrase!("violation-unknown-role", "unknown role {role:?}", role = role),
        );
    }
    if role == "user" {
        findings.close(at.saturating_sub(1));
    }
    let content = content.unwrap_or("null");
    let empty = match json::string(content) {
        Some(text) => text.text.trim().is_empty(),
        None => json::elements(content).is_none_or(|list| list.is_empty()),
    };
    if empty {
        findings.report(
            at,
            "V6",
            phrase!("violation-empty-role", "an empty {role} message", role = role),
        );
    }
}
