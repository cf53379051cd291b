//! `clear`: removes the content of old tool results; the calls stay.

use serde::Deserialize;

use super::{Spec, build};
use crate::draft::{Draft, Stage, Treatment};
use crate::history::AtomKind;
use crate::message::{Body, Form, Message, Part};
use crate::reason::Reason;
use crate::setting::{Allowed, Key};
use crate::truncate::Shortened;

pub(super) const SPEC: Spec = Spec {
    name: "clear",
    about: "clear old tool results, but keep their calls",
    keys: &[Key::new(
        "keep",
        Allowed::Whole(0, 1_000),
        "number of newest tool steps that keep their results",
    )],
    build: build::<Clear>,
};

/// Clears old tool results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clear {
    /// The number of newest tool steps that keep their results.
    pub keep: usize,
}

impl Default for Clear {
    fn default() -> Self {
        Self { keep: 3 }
    }
}

/// The text that replaces a cleared result.
const CLEARED: &str = "[old tool result cleared]";

impl Stage for Clear {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn fold(&self, draft: &mut Draft<'_>) {
        let exchanges = draft.newest_first().filter(|&at| draft.kind(at) == AtomKind::Exchange);
        for at in exchanges.skip(self.keep).collect::<Vec<_>>() {
            draft.shorten(at, Treatment::Trimmed, Reason::Cleared, cleared);
        }
    }
}

/// Returns the message with its results cleared, or `None` if they are already short.
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
