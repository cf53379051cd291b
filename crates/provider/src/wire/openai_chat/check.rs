//! Checks the rules of OpenAI's chat endpoint on the JSON itself, independent of the code that
//! renders it.

use waterline::json::{self, Fields};
use waterline::message::Role;
use waterline::phrase;
use waterline::validity::Violation;

use crate::wire::findings::Findings;
use crate::wire::read::kind;

pub(super) fn check(messages: &[&str]) -> Vec<Violation> {
    let mut findings = Findings::default();
    for (at, message) in messages.iter().enumerate() {
        self::message(&mut findings, at, message);
    }
    findings.end(messages.len())
}

fn message(findings: &mut Findings, at: usize, message: &str) {
    let Some(fields) = findings.object(at, message) else { return };
    let string_field = |name: &str| {
        fields.get(name).and_then(json::string).map(|lossy| lossy.text).unwrap_or_default()
    };
    let name = string_field("role");
    match super::role(&name) {
        None => findings.report(
            at,
            "V6",
            phrase!("violation-unknown-role", "unknown role {role:?}", role = &name),
        ),
        Some(Role::Tool) => findings.result(at, &string_field("tool_call_id")),
        Some(role) => {
            findings.close(at.saturating_sub(1));
            let calls = fields.get("tool_calls").and_then(json::elements).unwrap_or_default();
            let has_substitute = ["refusal", "audio", "function_call"]
                .iter()
                .any(|name| fields.get(name).is_some_and(|v| !json::is_null(v)));
            if calls.is_empty()
                && !has_substitute
                && role != Role::System
                && !is_not_blank(fields.get("content"))
            {
                findings.report(
                    at,
                    "V6",
                    phrase!("violation-empty-role", "an empty {role} message", role = role.name()),
                );
            }
            for call in calls {
                let id = Fields::parse(call).and_then(|mut fields| fields.take_string("id"));
                findings.call(at, id.map(|lossy| lossy.text).unwrap_or_default());
            }
        }
    }
}

/// Whether content is more than white space.
fn is_not_blank(content: Option<&str>) -> bool {
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
