//! A plan with everything that is shown about it.

use waterline::history::History;
use waterline::message::Wire;
use waterline::plan::{Action, Figures, FoldReport, Slot};
use waterline::policy::Policy;
use waterline::warning::Warning;
use waterline_provider::wire::Rendered;

/// A plan with everything that is shown about it.
pub struct Report<'a> {
    pub id: String,
    pub model_name: Option<&'a str>,
    pub policy: &'a Policy,
    pub history: &'a History,
    pub wire: Wire,
    pub rendered: &'a Rendered,
    pub action: &'a Action,
    pub tokens: &'a Figures,
    pub fold_report: Option<&'a FoldReport>,
    pub slots: &'a [Slot],
    pub warnings: &'a [Warning],
    /// Tokens of the tool definitions.
    pub tools: usize,
    /// Messages outside the file's list, such as a separate system prompt; they have no index.
    pub outside: usize,
}
