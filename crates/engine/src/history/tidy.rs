//! Repairs that concern one message alone: blank texts, arguments that are no JSON. The source stays as it was.

use crate::json;
use crate::message::{Body, Form, Message, Role};
use crate::warning::{Oddity, Warning};

/// A repaired copy of the message, or `None` when there is nothing to repair.
pub(super) fn tidy(index: usize, message: &Message, warnings: &mut Vec<Warning>) -> Option<Message> {
    let blanks = message.texts().any(|text| text.trim().is_empty());
    let bad_calls = message.calls().any(|call| call.name.is_empty() || !json::is_object(&call.arguments));
    let misplaced = message.parts.iter().any(|part| !belongs(message.role, &part.body));
    if !blanks && !bad_calls && !misplaced {
        return None;
    }
    let mut repaired = message.clone();
    repaired.form = Form::Changed;
    if misplaced {
        repaired.parts.retain(|part| belongs(message.role, &part.body));
        let text = format!("a part that a {} message cannot hold was left out", message.role.name());
        warnings.push(Warning::at(index, Oddity::MisplacedPart, text));
    }
    if blanks {
        repaired.parts.retain(|part| !matches!(&part.body, Body::Text(text) if text.trim().is_empty()));
        // A blank text beside calls is what every client writes; only one that stands for a message is worth a word.
        if message.role != Role::Assistant || message.calls().next().is_none() {
            warnings.push(Warning::at(index, Oddity::BlankText, "a blank text was left out"));
        }
    }
    for part in &mut repaired.parts {
        if let Body::Call(call) = &mut part.body
            && call.name.is_empty()
        {
            warnings.push(Warning::at(index, Oddity::MissingId, "a call that names no tool; sent as \"unknown\""));
            "unknown".clone_into(&mut call.name);
        }
        if let Body::Call(call) = &mut part.body
            && !json::is_object(&call.arguments)
        {
            if !call.arguments.trim().is_empty() {
                let text = format!("the arguments of {} are no JSON object; sent as {{\"input\": …}}", call.name);
                warnings.push(Warning::at(index, Oddity::BadArguments, text));
            }
            call.arguments = as_object(&call.arguments);
        }
    }
    Some(repaired)
}

/// Whether a speaker can say such a thing: only the model thinks and calls, only others answer its calls.
const fn belongs(role: Role, body: &Body) -> bool {
    match (body, role) {
        (Body::Call(_) | Body::Thinking(_), role) => matches!(role, Role::Assistant),
        (Body::Result(_), role) => matches!(role, Role::User | Role::Tool),
        _ => true,
    }
}

/// Arguments that are no JSON object, put into one.
fn as_object(arguments: &str) -> String {
    if arguments.trim().is_empty() {
        return "{}".to_owned();
    }
    json::object([("input", json::quote(arguments))])
}
