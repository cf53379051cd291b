//! `clear`: the contents of old tool results go, their calls stay.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::AtomKind;
use crate::message::{Body, Form, Message, Part};
use crate::setting::{Allowed, Key};
use crate::truncate::Shortened;

pub(super) const SPEC: Spec = Spec {
    name: "clear",
    about: "old tool results are cleared, their calls stay",
    keys: &[Key::new(
        "keep",
        Allowed::Whole(0, 1_000),
        "so many of the newest steps with tools keep their results",
    )],
    build: build::<Clear>,
};

/// Clears old tool results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clear {
    /// So many of the newest steps with tools keep their results.
    pub keep: usize,
}

impl Default for Clear {
    fn default() -> Self {
        Self { keep: 3 }
    }
}

/// What stands in the place of a cleared result.
const CLEARED: &str = "[old tool result cleared]";

impl Stage for Clear {
    fn fold(&self, draft: &mut Draft<'_>) {
        let exchanges = draft.newest_first().filter(|&at| draft.kind(at) == AtomKind::Exchange);
        for at in exchanges.skip(self.keep).collect::<Vec<_>>() {
            draft.reduce(at, Treatment::Trimmed, "an old tool result was cleared", cleared);
        }
    }
}

/// The message without the contents of its results, or `None` when they are short already.
fn cleared(message: &Message) -> Option<Message> {
    let is_long = |parts: &[Part]| {
        parts.iter().any(|part| match &part.body {
            Body::Text(text) => text.len() > 2 * CLEARED.len(),
            _ => true,
        })
    };
    message.results().any(|result| is_long(&result.parts)).then(|| {
        let mut bare = message.clone();
        bare.form = Form::Changed;
        for part in &mut bare.parts {
            if let Body::Result(result) = &mut part.body
                && is_long(&result.parts)
            {
                result.parts =
                    vec![Shortened::instead(CLEARED.to_owned(), &result.text(), None).into_part()];
            }
        }
        bare
    })
}
