//! Repairs that concern one message alone: blank texts, arguments that are no JSON. The source stays as it was.

use crate::json;
use crate::message::{Body, Form, Message, Role};
use crate::warning::{Oddity, Warning};

/// A repaired copy of the message, or `None` when there is nothing to repair.
pub(super) fn tidy(index: usize, message: &Message, warnings: &mut Vec<Warning>) -> Option<Message> {
    let blanks = message.texts().any(|text| text.trim().is_empty());
    let bad_calls = message.calls().any(|call| !json::is_object(&call.arguments));
    if !blanks && !bad_calls {
        return None;
    }
    let mut repaired = message.clone();
    repaired.form = Form::Changed;
    if blanks {
        repaired.parts.retain(|part| !matches!(&part.body, Body::Text(text) if text.trim().is_empty()));
        // A blank text beside calls is what every client writes; only one that stands for a message is worth a word.
        if message.role != Role::Assistant || message.calls().next().is_none() {
            warnings.push(Warning::at(index, Oddity::BlankText, "a blank text was left out"));
        }
    }
    for part in &mut repaired.parts {
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

/// Arguments that are no JSON object, put into one.
fn as_object(arguments: &str) -> String {
    if arguments.trim().is_empty() {
        return "{}".to_owned();
    }
    json::object([("input", json::quote(arguments))])
}
