//! Parts that only another wire can read: where a user said something with them, a word is left in
//! their place.

use std::borrow::Cow;

use waterline::message::{Body, Form, Message, Part, Role, Wire};

use super::list::format;

/// Whether there is something in a message that this wire cannot read.
pub(super) fn needs_translation(wire: Wire, message: &Message) -> bool {
    has_made_picture(wire, message) || message.parts.iter().any(|part| is_foreign(wire, part))
}

fn has_made_picture(wire: Wire, message: &Message) -> bool {
    message.role == Role::Assistant
        && message.has_image()
        && !format(wire).takes_assistant_images()
        && !is_native(wire, message)
}

/// The message with nothing in it that this wire cannot read.
pub(super) fn translate(wire: Wire, message: &Message) -> Cow<'_, Message> {
    if has_made_picture(wire, message) {
        return Cow::Owned(without_pictures(message));
    }
    if !message.parts.iter().any(|part| is_foreign(wire, part)) {
        return Cow::Borrowed(message);
    }
    let mut translated = message.clone();
    translated.form = Form::Changed;
    if message.role == Role::Assistant {
        translated.parts.retain(|part| !is_foreign(wire, part));
    } else {
        translated.parts.iter_mut().for_each(|part| replace(wire, part));
    }
    Cow::Owned(translated)
}

fn is_native(wire: Wire, message: &Message) -> bool {
    message.raw.as_ref().is_some_and(|raw| raw.wire() == wire)
}

/// Most wires take no image from the assistant.
fn without_pictures(message: &Message) -> Message {
    let mut translated = message.clone();
    translated.form = Form::Changed;
    for part in translated.parts.iter_mut().filter(|part| matches!(part.body, Body::Image(_))) {
        *part = Part::text("[a picture that the model made]");
    }
    translated.parts.retain(|part| !matches!(part.body, Body::Opaque(_)));
    translated
}

fn is_foreign(wire: Wire, part: &Part) -> bool {
    match &part.body {
        Body::Opaque(opaque) => opaque.wire != wire,
        Body::Result(result) => result.parts.iter().any(|inner| is_foreign(wire, inner)),
        _ => false,
    }
}

fn replace(wire: Wire, part: &mut Part) {
    match &mut part.body {
        Body::Opaque(opaque) if opaque.wire != wire => {
            *part = Part::text(format!(
                "[left out: something that only the {} wire can carry]",
                opaque.wire
            ));
        }
        Body::Result(result) => result.parts.iter_mut().for_each(|inner| replace(wire, inner)),
        _ => {}
    }
}
