//! Repairs that concern one message alone: blank texts, arguments that are no JSON, parts a speaker
//! cannot say. The source stays as it was.

use crate::json;
use crate::message::{Body, Form, Image, Message, Part, Role, ToolCall};
use crate::warning::{Oddity, Warning};

/// A repaired copy of the message, or `None` when there is nothing to repair.
pub(super) fn normalize(
    index: usize,
    message: &Message,
    warnings: &mut Vec<Warning>,
) -> Option<Message> {
    let role = message.role;
    let is_fine = |part: &Part| {
        belongs(role, &part.body) && !is_blank(&part.body) && !needs_mending(&part.body)
    };
    if message.parts.iter().all(is_fine) {
        return None;
    }
    let mut warn = |oddity, text: String| warnings.push(Warning::at(index, oddity, text));
    let mut repaired = message.clone();
    repaired.form = Form::Changed;
    repaired.parts.retain(|part| belongs(role, &part.body));
    if repaired.parts.len() < message.parts.len() {
        warn(
            Oddity::MisplacedPart,
            format!("a part that a {} message cannot hold was left out", role.name()),
        );
    }
    let whole = repaired.parts.len();
    repaired.parts.retain(|part| !is_blank(&part.body));
    // A blank text beside calls is what every client writes; only one that stands for a message is
    // worth a word.
    if repaired.parts.len() < whole && message.calls().next().is_none() {
        warn(Oddity::BlankText, "a blank text was left out".to_owned());
    }
    for part in repaired.parts.iter_mut().filter(|part| needs_mending(&part.body)) {
        mend(&mut part.body, &mut warn);
    }
    Some(repaired)
}

/// Whether a speaker can say such a thing: only the model thinks and calls, only others answer its
/// calls.
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

fn needs_mending(body: &Body) -> bool {
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

fn mend(body: &mut Body, warn: &mut impl FnMut(Oddity, String)) {
    let text = match body {
        Body::Call(call) => {
            mend_call(call, warn);
            &mut call.arguments
        }
        Body::Opaque(opaque) => &mut opaque.json,
        _ => return,
    };
    if let Some(mended) = json::mend_escapes(text) {
        warn(Oddity::LoneSurrogate, "half of a UTF-16 pair was replaced".to_owned());
        *text = mended;
    }
}

fn mend_call(call: &mut ToolCall, warn: &mut impl FnMut(Oddity, String)) {
    if call.name.is_empty() {
        warn(Oddity::MissingId, "a call that names no tool; sent as \"unknown\"".to_owned());
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
        Oddity::BadArguments,
        format!("the arguments of {} are no JSON object; sent as {{\"input\": …}}", call.name),
    );
    call.arguments = json::object([("input", json::quote(&call.arguments))]);
}
