//! Taking thinking out of messages. It goes whole or not at all: a provider refuses thinking that
//! was changed.

use crate::json::{self, Fields};
use crate::message::{Body, Form, Message, Part, Role};

/// Whether a message holds thinking, or may be bound by id to some that stood before it.
#[must_use]
pub(crate) fn is_bound(message: &Message) -> bool {
    let thinks = message.parts.iter().any(|part| matches!(part.body, Body::Thinking(_)));
    let by_id = message.raw.as_ref().is_some_and(|raw| raw.wire().binds_items());
    message.role == Role::Assistant && (thinks || by_id)
}

/// The message without thinking, and without the ids that bind it to thinking; `None` where nothing
/// else is in it.
#[must_use]
pub(crate) fn without(message: &Message) -> Option<Message> {
    let mut bare = message.clone();
    bare.form = Form::Changed;
    bare.parts.retain(|part| !matches!(part.body, Body::Thinking(_)));
    bare.parts.iter_mut().for_each(drop_item_id);
    bare.extra.retain(|(key, _)| key != "id");
    (!bare.parts.is_empty()).then_some(bare)
}

fn drop_item_id(part: &mut Part) {
    part.extra.retain(|(key, _)| key != "id");
    if let Body::Opaque(opaque) = &mut part.body
        && let Some(fields) = Fields::parse(&opaque.json)
        && fields.get("type").is_some()
        && fields.get("id").is_some()
    {
        opaque.json = json::object(fields.iter().filter(|(key, _)| *key != "id"));
    }
}
