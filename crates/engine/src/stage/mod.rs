//! The stages of a policy. Each one reads atoms and keeps, reduces or drops them. A stage is one
//! file with one struct; a new stage is a new file and a line in [`STAGES`].

mod cap;
mod clear;
mod emergency;
mod fit;
mod halve;
mod images;
mod pin;
mod preview;
mod recall;
mod repair;
mod request_and_answer;
mod summarize;
mod trim;
mod window;

pub use crate::draft::{Arrival, Stage};
pub use crate::summary::{Mode, Placement, Summarize};
// Applications name stages in a policy; only tests build them without one.
#[doc(hidden)]
pub use self::{
    cap::Cap,
    clear::Clear,
    emergency::Emergency,
    fit::Fit,
    halve::Halve,
    images::Images,
    pin::Pin,
    preview::Preview,
    recall::Recall,
    repair::{Repair, RepairMode},
    request_and_answer::RequestAndAnswer,
    trim::{Scope, Style, Trim},
    window::{Only, Window},
};

pub(crate) use request_and_answer::to_request_and_answer;
pub(crate) use window::keep_turns;

use std::sync::Arc;

use crate::setting::{Key, PolicyError};

/// The description of a stage: its name, its keys, and how to build it from a policy file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Spec {
    /// The name used in a policy.
    pub name: &'static str,
    /// What it does, for people.
    pub about: &'static str,
    /// The keys that can be set.
    pub keys: &'static [Key],
    /// Builds the stage from its settings.
    pub build: fn(toml::Table) -> Result<Arc<dyn Stage>, toml::de::Error>,
}

/// All stages.
pub const STAGES: &[&Spec] = &[
    &repair::SPEC,
    &cap::SPEC,
    &fit::SPEC,
    &preview::SPEC,
    &trim::SPEC,
    &clear::SPEC,
    &images::SPEC,
    &request_and_answer::SPEC,
    &pin::SPEC,
    &window::SPEC,
    &halve::SPEC,
    &summarize::SPEC,
    &recall::SPEC,
    &emergency::SPEC,
];

/// Returns the current name of a stage: `digest` is an older name of `answers`.
pub(crate) fn current_name(name: &str) -> &str {
    if name == "digest" { request_and_answer::SPEC.name } else { name }
}

/// Returns the description of the stage with this name, or with this older name.
///
/// # Errors
/// If the stage does not exist.
pub fn spec(name: &str) -> Result<&'static Spec, PolicyError> {
    let name = current_name(name);
    STAGES.iter().copied().find(|spec| spec.name == name).ok_or_else(|| PolicyError::UnknownStage {
        name: name.into(),
        known: STAGES.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", "),
    })
}

/// Builds a stage of type `S` from its settings.
fn build<S: Stage + serde::de::DeserializeOwned + 'static>(
    table: toml::Table,
) -> Result<Arc<dyn Stage>, toml::de::Error> {
    Ok(Arc::new(table.try_into::<S>()?))
}
