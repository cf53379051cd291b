//! Summaries as data: what one is to hold, how it is placed, and the deterministic digest that
//! needs no model. How a note is put together from them is the plan's work.

pub(crate) mod digest;
pub mod schema;
mod settings;

pub use schema::Schema;
pub use settings::{Mode, Placement, Summarise};

use crate::history::History;

/// A summary that a caller obtained for messages a plan wanted to be summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The messages it sums up, by index.
    pub sources: Vec<usize>,
    /// Its text.
    pub text: String,
}

/// The deterministic digest of these messages, within `budget` tokens: what stands in for a summary
/// that nobody could make.
#[must_use]
pub fn digest(history: &History, messages: &[usize], budget: usize) -> String {
    let mut atoms: Vec<usize> =
        messages.iter().filter_map(|&message| history.atom_of(message)).collect();
    atoms.dedup();
    digest::write(history, &atoms, budget, 0)
}
