//! Removes thinking from messages. It is removed as a whole or not at all, because providers reject
//! modified thinking.

use crate::json::{self, Fields};
use crate::message::{Body, Form, Message, Part, Role};

/// Returns whether a message contains thinking, or may refer by id to thinking before it.
#[must_use]
pub(crate) fn is_bound(message: &Message) -> bool {
    let has_thinking = message.parts.iter().any(|part| matches!(part.body, Body::Thinking(_)));
    let may_refer = message.raw.as_ref().is_some_and(|raw| raw.wire().binds_items());
    message.role == Role::Assistant && (has_thinking || may_refer)
}

/// Returns the message without thinking and without ids that refer to thinking, or `None` if
/// nothing else is left.
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
