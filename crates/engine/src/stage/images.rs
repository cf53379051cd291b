//! `images`: a picture that the model has answered to is not sent again.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::AtomKind;
use crate::message::{Body, Form, Message, Part};

pub(super) const SPEC: Spec = Spec {
    name: "images",
    about: "pictures already seen are not sent again",
    keys: &[],
    build: build::<Images>,
};

/// Drops pictures already seen.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Images {}

impl Stage for Images {
    fn fold(&self, draft: &mut Draft<'_>) {
        let answered = draft
            .newest_first()
            .find(|&at| matches!(draft.kind(at), AtomKind::Reply | AtomKind::Exchange));
        let Some(answered) = answered else { return };
        for at in draft.newest_first().filter(|&at| at < answered) {
            let pictured =
                !draft.is_protected(at) && draft.history.atom_messages(at).any(Message::has_image);
            if pictured {
                draft.reduce(
                    at,
                    Treatment::Trimmed,
                    "a picture already seen was left out",
                    |message| message.has_image().then(|| without_images(message)),
                );
            }
        }
    }
}

fn without_images(message: &Message) -> Message {
    let mut blind = message.clone();
    blind.form = Form::Changed;
    for part in &mut blind.parts {
        blank(part);
        if let Body::Result(result) = &mut part.body {
            result.parts.iter_mut().for_each(blank);
        }
    }
    blind
}

fn blank(part: &mut Part) {
    if matches!(part.body, Body::Image(_)) {
        *part = Part::text("[a picture was here; it has been seen]");
    }
}
