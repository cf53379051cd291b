//! What happens while an agent works, for whoever watches.

use std::time::Duration;

use waterline_provider::answer::{Stop, Usage};

use crate::state::Todo;

/// Something that just happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A turn begins, or is gone on with.
    Begins,
    /// The model is asked, for the so-manyth time in this turn.
    Asks(usize),
    /// Something of the call: words as they come, folds, another try.
    Call(waterline_session::Event),
    /// The model answered.
    Answered {
        /// Why it ended.
        stop: Stop,
        /// What it took.
        usage: Usage,
    },
    /// The model could not be asked.
    Failed(String),
    /// A tool begins.
    ToolBegins {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What it is called with, as JSON.
        arguments: String,
    },
    /// A tool is done.
    ToolEnds {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// What the model is told.
        text: String,
        /// Whether it failed.
        failed: bool,
        /// How long it took.
        took: Duration,
    },
    /// The todos changed.
    Todos(Vec<Todo>),
    /// What was said meanwhile is heard now.
    Steered(String),
    /// A hook failed; the turn goes on without it.
    HookFailed {
        /// Whose.
        middleware: &'static str,
        /// Which.
        hook: &'static str,
        /// Why.
        why: String,
    },
    /// Something of a sub-agent.
    Below {
        /// Its context.
        context_id: String,
        /// What.
        event: Box<Event>,
    },
    /// A plain word for the user.
    Notice(String),
    /// The turn ended.
    Ends,
}
