//! A plan with everything that is shown about it.

use waterline::history::History;
use waterline::policy::Policy;
use waterline_provider::Planned;

/// A plan with everything that is shown about it.
pub struct Report<'a> {
    pub plan: Planned<'a>,
    pub policy: &'a Policy,
    pub history: &'a History,
    /// Tokens of the tool definitions.
    pub tools: usize,
    /// The tokens that a fold would free, if one is due but was skipped because it would free too
    /// few.
    pub freeable: Option<usize>,
}
