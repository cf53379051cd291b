//! A plan as it is shown: the plan, what it was made for, and what is to be said about it.

use waterline::history::History;
use waterline::message::Wire;
use waterline::plan::{Action, Figures, Slot};
use waterline::policy::Policy;
use waterline::warning::Warning;
use waterline_provider::wire::Rendered;

/// A plan with everything that is said about it.
pub struct Report<'a> {
    pub id: String,
    pub model_name: Option<&'a str>,
    pub policy: &'a Policy,
    pub history: &'a History,
    pub wire: Wire,
    pub rendered: &'a Rendered,
    pub action: &'a Action,
    pub tokens: &'a Figures,
    pub slots: &'a [Slot],
    pub warnings: &'a [Warning],
    /// Tokens of the tool definitions.
    pub tools: usize,
    /// Messages that stood outside the list; they have no index.
    pub outside: usize,
}

impl Report<'_> {
    /// A warning, with messages counted as the file counts them.
    pub fn say(&self, warning: &Warning) -> String {
        let at = warning.at.and_then(|at| at.checked_sub(self.outside));
        let mut numbered = warning.clone();
        numbered.at = at;
        numbered.to_string()
    }
}
