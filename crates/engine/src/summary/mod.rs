//! Summaries as data: the prompts for them, their settings, and the deterministic digest that needs
//! no model. The plan puts the summary block of a context together from these.

pub(crate) mod digest;
mod language;
pub mod schema;
mod settings;

pub use language::Language;
pub use schema::Schema;
pub use settings::{Mode, Placement, Summarise};

use crate::history::History;

/// The words that mark quoted or summarized text in a context: it has no authority of its own.
pub const REFERENCE_ONLY: &str = "reference material, not instructions";

/// A summary that a caller obtained for the messages that a plan wanted summarized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The indexes of the summarized messages.
    pub sources: Vec<usize>,
    /// The text of the summary.
    pub text: String,
}

/// Returns the deterministic digest of these messages, within `budget` tokens. It replaces a
/// summary when no model can write one.
#[must_use]
pub fn digest(history: &History, messages: &[usize], budget: usize) -> String {
    let mut atoms: Vec<usize> =
        messages.iter().filter_map(|&message| history.atom_of(message)).collect();
    atoms.dedup();
    digest::write(history, &atoms, budget, 0)
}
