//! Repairs that need only one message: blank texts, arguments that are not JSON, and parts that its
//! role cannot have. The original message stays unchanged.

use crate::json;
use crate::message::{Body, Form, Image, Message, Part, Role, ToolCall};
use crate::phrase;
use crate::phrase::Phrase;
use crate::warning::{Warning, WarningKind};

/// Returns a repaired copy of the message, or `None` if there is nothing to repair.
pub(super) fn normalize(
    index: usize,
    message: &Message,
    warnings: &mut Vec<Warning>,
) -> Option<Message> {
    let role = message.role;
    let is_fine = |part: &Part| {
        belongs(role, &part.body) && !is_blank(&part.body) && !needs_repair(&part.body)
    };
    if message.parts.iter().all(is_fine) {
        return None;
    }
    let mut warn = |kind, text: Phrase| warnings.push(Warning::at(index, kind, text));
    let mut repaired = message.clone();
    repaired.form = Form::Changed;
    repaired.parts.retain(|part| belongs(role, &part.body));
    if repaired.parts.len() < message.parts.len() {
        warn(
            WarningKind::MisplacedPart,
            phrase!(
                "warning-misplaced-part",
                "removed a part that a {role} message cannot have",
                role = role.name()
            ),
        );
    }
    let before = repaired.parts.len();
    repaired.parts.retain(|part| !is_blank(&part.body));
    // Every client writes a blank text next to calls. It is worth a warning only without calls.
    if repaired.parts.len() < before && message.calls().next().is_none() {
        warn(WarningKind::BlankText, phrase!("warning-blank-text", "removed a blank text part"));
    }
    for part in repaired.parts.iter_mut().filter(|part| needs_repair(&part.body)) {
        mend(&mut part.body, &mut warn);
    }
    Some(repaired)
}

/// Returns whether a role can have such a part: only the assistant thinks and calls tools, and only
/// others return results.
const fn belongs(role: Role, body: &Body) -> bool {
    match (body, role) {
        (Body::Call(_) | Body::Thinking(_), role) => matches!(role, Role::Assistant),
        (Body::Result(_), role) => matches!(role, Role::User | Role::Tool),
        _ => true,
    }
}

fn is_blank(body: &Body) -> bool {
    match body {
        Body::Text(text) => text.trim().is_empty(),
        Body::Image(Image::Inline { data, .. }) => data.is_empty(),
        _ => false,
    }
}

fn needs_repair(body: &Body) -> bool {
    match body {
        Body::Call(call) => {
            call.name.is_empty()
                || !json::is_object(&call.arguments)
                || json::mend_escapes(&call.arguments).is_some()
        }
        Body::Opaque(opaque) => json::mend_escapes(&opaque.json).is_some(),
        _ => false,
    }
}

fn mend(body: &mut Body, warn: &mut impl FnMut(WarningKind, Phrase)) {
    let text = match body {
        Body::Call(call) => {
            repair_call(call, warn);
            &mut call.arguments
        }
        Body::Opaque(opaque) => &mut opaque.json,
        _ => return,
    };
    if let Some(mended) = json::mend_escapes(text) {
        warn(
            WarningKind::LoneSurrogate,
            phrase!("warning-lone-surrogate", "replaced half of a UTF-16 surrogate pair"),
        );
        *text = mended;
    }
}

fn repair_call(call: &mut ToolCall, warn: &mut impl FnMut(WarningKind, Phrase)) {
    if call.name.is_empty() {
        warn(
            WarningKind::MissingId,
            phrase!("warning-missing-tool-name", "a call without a tool name; sent as \"unknown\""),
        );
        "unknown".clone_into(&mut call.name);
    }
    if json::is_object(&call.arguments) {
        return;
    }
    if call.arguments.trim().is_empty() {
        "{}".clone_into(&mut call.arguments);
        return;
    }
    warn(
        WarningKind::BadArguments,
        phrase!(
            "warning-bad-arguments",
            "the arguments of {name} are not a JSON object; sent as {{\"input\": …}}",
            name = &call.name
        ),
    );
    call.arguments = json::object([("input", json::quote(&call.arguments))]);
}
