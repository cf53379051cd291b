//! `images`: removes images that the model has already seen.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::AtomKind;
use crate::message::{Body, Form, Message, Part};
use crate::reason::Reason;

pub(super) const SPEC: Spec = Spec {
    name: "images",
    about: "remove images that the model has already seen",
    keys: &[],
    build: build::<Images>,
};

/// Removes images that the model has already seen.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Images {}

impl Stage for Images {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        let answered = draft
            .newest_first()
            .find(|&at| matches!(draft.kind(at), AtomKind::Reply | AtomKind::Exchange));
        let Some(answered) = answered else { return };
        for at in draft.newest_first().filter(|&at| at < answered) {
            let has_old_image =
                !draft.is_protected(at) && draft.history.atom_messages(at).any(Message::has_image);
            if has_old_image {
                draft.shorten(at, Treatment::Trimmed, Reason::ImageSeen, |message| {
                    message.has_image().then(|| without_images(message))
                });
            }
        }
    }
}

fn without_images(message: &Message) -> Message {
    let mut text_only = message.clone();
    text_only.form = Form::Changed;
    for part in &mut text_only.parts {
        replace_image(part);
        if let Body::Result(result) = &mut part.body {
            result.parts.iter_mut().for_each(replace_image);
        }
    }
    text_only
}

fn replace_image(part: &mut Part) {
    if matches!(part.body, Body::Image(_)) {
        *part = Part::text("[image removed; you have already seen it]");
    }
}
