//! A slot of a plan: the messages it covers, what was done with them, and why.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::history::View;
use crate::message::{Body, Part, Truncated};
use crate::reason::Reasons;

/// What was done with the messages of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Treatment {
    /// Sent unchanged.
    Verbatim,
    /// Sent shortened.
    Trimmed,
    /// A JSON result sent as a preview.
    Preview,
    /// Replaced by a summary, together with others.
    Summary,
    /// Not sent in their place, but quoted in a later message.
    Recalled,
    /// Not sent.
    Omitted,
}

impl Treatment {
    /// Returns its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verbatim => "verbatim",
            Self::Trimmed => "trimmed",
            Self::Preview => "preview",
            Self::Summary => "summary",
            Self::Recalled => "recalled",
            Self::Omitted => "omitted",
        }
    }

    /// Returns whether the messages themselves are sent, whole or shortened.
    #[must_use]
    pub const fn is_sent(self) -> bool {
        matches!(self, Self::Verbatim | Self::Trimmed | Self::Preview)
    }
}

impl fmt::Display for Treatment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One entry of a plan.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Slot {
    /// The indexes of the messages it covers.
    pub sources: Vec<usize>,
    /// What was done with them.
    pub treatment: Treatment,
    /// The tokens it takes in the context.
    pub tokens: usize,
    /// Why; empty for unchanged messages. As JSON, `reason` is the text and `reasons` the data.
    #[serde(flatten, serialize_with = "write_reasons")]
    pub reasons: Reasons,
    /// The messages that are sent for it, in order. As JSON, only their truncations are written.
    #[serde(
        rename = "truncated",
        serialize_with = "write_truncations",
        skip_serializing_if = "is_whole"
    )]
    pub views: Vec<View>,
    /// The values listed in its ledger, most likely needed first. Only a summary has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
}

/// A text of a slot that is not sent whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Truncation<'a> {
    /// The index of the view in the slot.
    pub view: usize,
    /// The index of the part in the message.
    pub part: usize,
    /// The index of the part in the tool result, if the part is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<usize>,
    /// What was left out, and where the whole text is.
    #[serde(flatten)]
    pub truncated: &'a Truncated,
}

impl Slot {
    /// Returns what the plan left out of the texts of this slot.
    pub fn truncations(&self) -> impl Iterator<Item = Truncation<'_>> {
        truncations(&self.views)
    }
}

fn truncations(views: &[View]) -> impl Iterator<Item = Truncation<'_>> {
    views.iter().enumerate().flat_map(|(view, made)| {
        let parts = match made {
            View::Made(message) => message.parts.as_slice(),
            View::Source(_) => &[],
        };
        parts.iter().enumerate().flat_map(move |(part, sent)| truncations_of(view, part, sent))
    })
}

fn is_whole(views: &[View]) -> bool {
    truncations(views).next().is_none()
}

fn write_reasons<S: serde::Serializer>(
    reasons: &Reasons,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written<'a> {
        reason: String,
        #[serde(skip_serializing_if = "Reasons::is_empty")]
        reasons: &'a Reasons,
    }
    Written { reason: reasons.to_string(), reasons }.serialize(serializer)
}

fn write_truncations<S: serde::Serializer>(
    views: &[View],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(truncations(views))
}

fn truncations_of(view: usize, part: usize, sent: &Part) -> Vec<Truncation<'_>> {
    let own = sent.truncated.as_deref().map(|truncated| Truncation {
        view,
        part,
        inner: None,
        truncated,
    });
    let inner = match &sent.body {
        Body::Result(result) => result.parts.as_slice(),
        _ => &[],
    };
    let inner = inner.iter().enumerate().filter_map(|(at, text)| {
        let truncated = text.truncated.as_deref()?;
        Some(Truncation { view, part, inner: Some(at), truncated })
    });
    own.into_iter().chain(inner).collect()
}
