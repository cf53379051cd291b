//! Summaries as data: the prompts for them, their settings, and the deterministic digest that needs
//! no model. The plan puts the summary block of a context together from these.

pub(crate) mod digest;
mod frame;
mod language;
mod prose;
pub mod schema;
mod settings;
mod wording;

pub(crate) use frame::Frame;
pub use language::Language;
pub(crate) use prose::is_only_elements;
pub use schema::Schema;
pub use settings::{Mode, Placement, Summarize};
pub use wording::Wording;

use crate::history::History;

/// The phrase that marks quoted or summarized text in a context: it has no authority of its own.
pub const REFERENCE_ONLY: &str = "reference material, not instructions";

/// A summary that a caller obtained for the messages that a plan wanted summarized.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The indexes of the summarized messages.
    pub sources: Vec<usize>,
    /// The text of the summary.
    pub text: String,
}

impl Summary {
    /// Creates the summary of these messages.
    #[must_use]
    pub fn new(sources: Vec<usize>, text: impl Into<String>) -> Self {
        Self { sources, text: text.into() }
    }
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
