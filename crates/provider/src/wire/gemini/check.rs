//! Checks the rules of Gemini's endpoint on the JSON itself, independent of the code that renders
//! it.

use waterline::json::{self, Fields};
use waterline::phrase;
use waterline::validity::Violation;

use crate::wire::findings::Findings;

pub(super) fn check(contents: &[&str]) -> Vec<Violation> {
    let mut findings = Findings::default();
    let mut before = String::new();
    let mut calls = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let Some(fields) = findings.object(at, content) else { continue };
        let role = fields
            .get("role")
            .and_then(json::string)
            .map_or_else(|| "user".to_owned(), |lossy| lossy.text);
        let role = if role == "function" { "user".to_owned() } else { role };
        self::role(&mut findings, at, &role, &before);
        let parts: Vec<Fields<'_>> = fields
            .get("parts")
            .and_then(json::elements)
            .unwrap_or_default()
            .into_iter()
            .filter_map(Fields::parse)
            .collect();
        if parts.is_empty() {
            findings.report(at, "V6", phrase!("violation-no-parts", "a turn without parts"));
        }
        responses(&mut findings, at, calls, &names(&parts, "functionResponse"));
        calls = names(&parts, "functionCall");
        before = role;
    }
    responses(&mut findings, contents.len().saturating_sub(1), calls, &[]);
    findings.end(contents.len())
}

fn role(findings: &mut Findings, at: usize, role: &str, before: &str) {
    if at == 0 && role != "user" {
        findings.report(
            at,
            "V4",
            phrase!("violation-first-turn", "the first turn is not from the user"),
        );
    }
    if role != "user" && role != "model" {
        findings.report(
            at,
            "V6",
            phrase!("violation-unknown-role", "unknown role {role:?}", role = role),
        );
    }
    if role == before {
        findings.report(
            at,
            "V5",
            phrase!("violation-two-turns", "two {role} turns in a row", role = role),
        );
    }
}

/// There must be one response per call, matched by name: this wire needs no ids.
fn responses(findings: &mut Findings, at: usize, mut calls: Vec<String>, responses: &[String]) {
    for name in responses {
        match calls.iter().position(|call| call == name) {
            Some(call) => {
                calls.remove(call);
            }
            None => findings.report(
                at,
                "V1",
                phrase!(
                    "violation-response",
                    "a response from {name:?}, which the previous turn does not call",
                    name = name
                ),
            ),
        }
    }
    if !calls.is_empty() {
        findings.report(
            at,
            "V2",
            phrase!(
                "violation-no-response",
                "calls without a response: {names}",
                names = calls.join(", ")
            ),
        );
    }
}

fn names(parts: &[Fields<'_>], kind: &str) -> Vec<String> {
    let snake = if kind == "functionCall" { "function_call" } else { "function_response" };
    let inner = parts
        .iter()
        .filter_map(|part| part.get(kind).or_else(|| part.get(snake)).and_then(Fields::parse));
    inner
        .map(|fields| {
            fields.get("name").and_then(json::string).map(|lossy| lossy.text).unwrap_or_default()
        })
        .collect()
}
