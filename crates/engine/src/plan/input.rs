//! The input of [`plan`](super::plan).

use super::{FoldRequest, Generation};
use crate::draft::{Budget, Passage};
use crate::history::History;
use crate::model::Model;
use crate::policy::Policy;
use crate::summary::Summary;

/// Everything a plan depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// All messages so far.
    pub history: &'a History,
    /// What the last fold kept, and everything appended since.
    pub generation: &'a Generation,
    /// When to fold, and how.
    pub policy: &'a Policy,
    /// The tokens that the call may use.
    pub budget: Budget,
    /// The tokens of the window that stay free, because even a calibrated counter is slightly off.
    /// `budget.window` does not include them.
    pub margin: usize,
    /// The model that is called.
    pub model: &'a Model,
    /// Summaries that earlier plans wanted and that were made since.
    pub summaries: &'a [Summary],
    /// What every fold keeps.
    pub keep: Keep<'a>,
    /// A request to fold now, whether or not a fold is due.
    pub requested_fold: Option<FoldRequest<'a>>,
    /// The passages of earlier messages that the caller found for the newest user message, best
    /// first ([`Policy::search`]). `None` if it did not search: then the stage that quotes them
    /// searches the history by words.
    pub found_passages: Option<&'a [Passage]>,
}

/// What every fold keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// The indexes of the pinned messages.
    pub pins: &'a [usize],
    /// Lines that the summary block must contain verbatim, such as open todos, pending approvals
    /// and standing instructions. A line that its text already contains is not repeated.
    pub lines: &'a [String],
}

impl<'a> Input<'a> {
    /// Creates an input without a margin, summaries, pins, a requested fold or passages.
    #[must_use]
    pub const fn new(
        history: &'a History,
        generation: &'a Generation,
        policy: &'a Policy,
        budget: Budget,
        model: &'a Model,
    ) -> Self {
        Self {
            history,
            generation,
            policy,
            budget,
            margin: 0,
            model,
            summaries: &[],
            keep: Keep { pins: &[], lines: &[] },
            requested_fold: None,
            found_passages: None,
        }
    }
}
