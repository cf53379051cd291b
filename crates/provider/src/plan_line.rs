//! A plan as JSON, for programs. The format is documented in docs/plan-json.md: fields are added,
//! never renamed or removed.

use serde::Serialize;
use waterline::message::Wire;
use waterline::plan::{Action, Figures, FoldReport, Slot};
use waterline::reason::Reasons;
use waterline::warning::Warning;

use crate::wire::Rendered;

/// A plan and its context, rendered for one wire.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct PlanLine<'a> {
    /// The id of the conversation.
    pub id: &'a str,
    /// The name of the wire.
    pub wire: &'static str,
    /// The name of the policy.
    pub policy: &'a str,
    /// The name of the model, if known.
    pub model: Option<&'a str>,
    /// Why the context was folded, if it was.
    pub fold: Option<String>,
    /// The reasons for the fold, as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold_reasons: Option<&'a Reasons>,
    /// The messages in the format of the wire.
    #[serde(flatten)]
    pub context: &'a Rendered,
    /// How large the context is, and how large it may be.
    pub tokens: &'a Figures,
    /// Why the fold ended at this size.
    pub fold_report: Option<&'a FoldReport>,
    /// What happened to every message.
    pub slots: Vec<Slot>,
    /// Irregularities, and what does not fit.
    pub warnings: Vec<String>,
}

/// What a [`PlanLine`] is made from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Planned<'a> {
    /// The id of the conversation.
    pub id: &'a str,
    /// The name of the policy.
    pub policy: &'a str,
    /// The name of the model, if known.
    pub model: Option<&'a str>,
    /// The wire of the context.
    pub wire: Wire,
    /// The messages in the format of the wire.
    pub context: &'a Rendered,
    /// Whether the plan extends or folds.
    pub action: &'a Action,
    /// How large the context is, and how large it may be.
    pub tokens: &'a Figures,
    /// Why the fold ended at this size.
    pub fold_report: Option<&'a FoldReport>,
    /// What happened to every message.
    pub slots: &'a [Slot],
    /// Irregularities, and what does not fit.
    pub warnings: &'a [Warning],
    /// How many messages of the history are not in the client's list of messages, such as a
    /// separate system prompt. Indexes are those of the client's list.
    pub outside: usize,
}

impl<'a> Planned<'a> {
    /// Describes a plan by its context and slots, without the names of a policy and a model.
    #[must_use]
    pub const fn new(
        id: &'a str,
        wire: Wire,
        context: &'a Rendered,
        action: &'a Action,
        tokens: &'a Figures,
        slots: &'a [Slot],
    ) -> Self {
        Self {
            id,
            policy: "",
            model: None,
            wire,
            context,
            action,
            tokens,
            fold_report: None,
            slots,
            warnings: &[],
            outside: 0,
        }
    }

    /// Sets the names of the policy and the model.
    #[must_use]
    pub const fn names(mut self, policy: &'a str, model: Option<&'a str>) -> Self {
        self.policy = policy;
        self.model = model;
        self
    }
}

impl<'a> PlanLine<'a> {
    /// Creates the line of a plan.
    #[must_use]
    pub fn new(plan: &Planned<'a>) -> Self {
        let fold_reasons = match plan.action {
            Action::Fold { reasons, .. } => Some(reasons),
            _ => None,
        };
        Self {
            id: plan.id,
            wire: plan.wire.name(),
            policy: plan.policy,
            model: plan.model,
            fold: fold_reasons.map(Reasons::to_string),
            fold_reasons,
            context: plan.context,
            tokens: plan.tokens,
            fold_report: plan.fold_report,
            slots: plan.slots.iter().map(|slot| with_list_indexes(slot, plan.outside)).collect(),
            warnings: plan.warnings.iter().map(|warning| text(warning, plan.outside)).collect(),
        }
    }
}

/// Returns a warning with the index of its message in the client's list.
fn text(warning: &Warning, outside: usize) -> String {
    let mut numbered = warning.clone();
    numbered.at = warning.at.and_then(|at| at.checked_sub(outside));
    numbered.to_string()
}

/// Returns a slot with the indexes of its sources in the client's list. Messages outside the list
/// have none.
fn with_list_indexes(slot: &Slot, outside: usize) -> Slot {
    let mut numbered = slot.clone();
    numbered.sources =
        slot.sources.iter().filter_map(|source| source.checked_sub(outside)).collect();
    numbered
}
