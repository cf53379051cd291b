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
mod summarise;
mod trim;
mod window;

pub use crate::draft::{Arrival, Stage};
pub use crate::summary::{Mode, Placement, Summarise};
pub use cap::Cap;
pub use clear::Clear;
pub use emergency::Emergency;
pub use fit::Fit;
pub use halve::Halve;
pub use images::Images;
pub use pin::Pin;
pub use preview::Preview;
pub use recall::Recall;
pub use repair::{Repair, RepairMode};
pub use request_and_answer::RequestAndAnswer;
pub use trim::{Scope, Style, Trim};
pub use window::{Only, Window};

pub(crate) use request_and_answer::to_request_and_answer;
pub(crate) use window::keep_turns;

use std::sync::Arc;

use crate::setting::{Key, PolicyError};

/// The description of a stage: its name, its keys, and how to build it from a policy file.
#[derive(Debug)]
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
    &summarise::SPEC,
    &recall::SPEC,
    &emergency::SPEC,
];

/// Returns the description of the stage with this name.
///
/// # Errors
/// If there is no such stage.
pub fn spec(name: &str) -> Result<&'static Spec, PolicyError> {
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
