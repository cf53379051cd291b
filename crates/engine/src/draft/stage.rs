//! What a stage is: it reads atoms and proposes what becomes of them. The stages themselves are one
//! layer up.

use std::fmt::Debug;

use super::{Draft, Item, Marks};
use crate::history::History;
use crate::model::Model;
use crate::setting::FoldRule;

/// What a stage may know when an atom is about to be sent for the first time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Arrival<'a> {
    /// The whole conversation.
    pub history: &'a History,
    /// The budget.
    pub room: &'a Marks,
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

    /// Brings a draft into the window when all other stages are done; says whether it is made for
    /// that.
    fn rescue(&self, _draft: &mut Draft<'_>) -> bool {
        false
    }

    /// Cuts texts and turns as hard as the first rungs of the ladder do, needed or not; says
    /// whether it is made for that.
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
