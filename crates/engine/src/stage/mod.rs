//! Stages: each reads atoms and proposes what becomes of them. One file, one struct; a new stage is a new file and
//! a line in [`STAGES`].

mod cap;
mod clear;
mod digest;
mod emergency;
mod halve;
mod images;
mod pin;
mod preview;
mod recall;
mod repair;
mod summarise;
mod trim;
mod window;

pub use cap::Cap;
pub use clear::Clear;
pub use digest::Digest;
pub use emergency::Emergency;
pub use halve::Halve;
pub use images::Images;
pub use pin::Pin;
pub use preview::Preview;
pub use recall::Recall;
pub use repair::{Repair, RepairMode};
pub use summarise::{Mode, Placement, Summarise};
pub use trim::{Scope, Style, Trim};
pub use window::{Only, Window};

use std::fmt::Debug;
use std::sync::Arc;

use crate::history::History;
use crate::model::Model;
use crate::plan::{Draft, Item, Room};
use crate::policy::{FoldRule, Key, PolicyError};

/// What a stage may know when an atom is about to be sent for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The whole conversation.
    pub history: &'a History,
    /// The budget.
    pub room: &'a Room,
    /// What is known of the model.
    pub model: &'a Model,
    /// Atoms that the context no longer shows.
    pub hidden: &'a [usize],
}

/// One step of a policy.
pub trait Stage: Debug + Send + Sync {
    /// Changes an atom before it is sent for the first time; later it is sent the same way again.
    fn arrive(&self, _item: &mut Item, _arrival: &Arrival<'_>) {}

    /// Takes part in a fold.
    fn fold(&self, _draft: &mut Draft<'_>) {}

    /// Brings a draft into the window when all other stages are done; says whether it is made for that.
    fn rescue(&self, _draft: &mut Draft<'_>) -> bool {
        false
    }

    /// Cuts texts and turns as hard as the first rungs of the ladder do, needed or not; says whether it is made for that.
    fn trim(&self, _draft: &mut Draft<'_>) -> bool {
        false
    }

    /// Whether it needs to know which atoms the context no longer shows.
    fn recalls(&self) -> bool {
        false
    }

    /// What is odd about its settings, for a person.
    fn concern(&self, _rule: &FoldRule) -> Option<String> {
        None
    }
}

/// What a policy file can say about a stage.
#[derive(Debug)]
pub struct Spec {
    /// Its name in a policy.
    pub name: &'static str,
    /// What it does, for a person.
    pub about: &'static str,
    /// What may be set.
    pub keys: &'static [Key],
    /// Makes it from its settings.
    pub build: fn(toml::Table) -> Result<Arc<dyn Stage>, toml::de::Error>,
}

/// Every stage there is.
pub const STAGES: &[&Spec] = &[
    &repair::SPEC,
    &cap::SPEC,
    &preview::SPEC,
    &trim::SPEC,
    &clear::SPEC,
    &images::SPEC,
    &digest::SPEC,
    &pin::SPEC,
    &window::SPEC,
    &halve::SPEC,
    &summarise::SPEC,
    &recall::SPEC,
    &emergency::SPEC,
];

/// The stage of that name.
///
/// # Errors
/// When there is none.
pub fn spec(name: &str) -> Result<&'static Spec, PolicyError> {
    STAGES.iter().copied().find(|spec| spec.name == name).ok_or_else(|| PolicyError::UnknownStage {
        name: name.into(),
        known: STAGES.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", "),
    })
}

/// Makes a stage of type `S` from its settings.
fn build<S: Stage + serde::de::DeserializeOwned + 'static>(
    table: toml::Table,
) -> Result<Arc<dyn Stage>, toml::de::Error> {
    Ok(Arc::new(table.try_into::<S>()?))
}
