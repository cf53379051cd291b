//! What may look at a turn from beside it and have a word: six hooks, in the order of their priorities. One file each; some only
//! set up what is there anyway.

mod call_limit;
mod chain;
mod context_editing;
mod file_search;
mod human_approval;
mod list;
mod model_fallback;
mod model_retry;
mod pii;
mod shell_tool;
mod summarization;
mod todo_list;
mod tool_emulator;
mod tool_retry;
mod tool_selector;

use std::collections::BTreeMap;

use waterline::message::ToolCall;
use waterline_provider::answer::Answer;

pub(crate) use chain::{Chain, Hook};
pub use list::{PRESETS, build, preset};
pub(crate) use summarization::of_buffer;

use crate::config::AgentConfig;
use crate::error::AgentError;
use crate::person::Word;
use crate::state::{Request, State};
use crate::tool::Toolbox;

/// Where a turn goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// The model is asked.
    Model,
    /// The open calls are run.
    Tools,
    /// The turn ends.
    End,
}

/// What a hook wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Ok,
    /// It changed the state, which is to be stored.
    Update,
    /// The turn goes on elsewhere.
    Goto(To),
    /// The turn ends, for this reason.
    Halt(String),
    /// A person must agree first; then the hook is asked again.
    Interrupt(Request),
}

/// What a hook gives back: a verdict, or why it failed.
pub type Hooked = Result<Verdict, String>;

/// A call that was run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The call.
    pub call: ToolCall,
    /// What the model will be told.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// What the model is told of a call that is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// In words.
    pub text: String,
    /// Whether that is a failure.
    pub failed: bool,
}

impl Instead {
    /// Why it is not run.
    pub fn refusal(why: impl Into<String>) -> Self {
        Self { text: why.into(), failed: true }
    }

    /// What it is said to have given.
    pub fn result(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: false }
    }
}

/// How much was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Model calls in this turn.
    pub steps: usize,
    /// Model calls since the session was opened.
    pub iterations: usize,
    /// Tool calls in this turn.
    pub tool_calls: usize,
}

/// The turn as a hook sees it.
pub struct Moment<'a> {
    /// What the session carries.
    pub state: &'a mut State,
    /// How much was done.
    pub tally: Tally,
    /// What the user says, before it is stored; only before the agent begins.
    pub said: &'a mut String,
    /// The texts that go with it: files, notes.
    pub attached: &'a mut Vec<String>,
    /// What is said to the model for its next call only; only before it.
    pub asides: &'a mut Vec<String>,
    /// The answer; only after the model.
    pub answer: Option<&'a Answer>,
    /// The calls that are about to be run; only before the tools.
    pub calls: &'a [ToolCall],
    /// Calls that are not to be run, with what the model is told instead.
    pub instead: &'a mut BTreeMap<String, Instead>,
    /// What a person said to a call.
    pub words: &'a BTreeMap<String, Word>,
    /// The calls that were run, before their results are stored; only after the tools.
    pub finished: &'a mut Vec<Finished>,
    /// The tools.
    pub toolbox: &'a Toolbox,
}

/// Looks at turns. Every hook says nothing unless it is written.
#[expect(unused_variables, reason = "the names tell what a hook gets")]
pub trait Middleware: Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its place: the lowest comes first.
    fn priority(&self) -> i32 {
        100
    }

    /// Sets up what the agent is made with, once.
    ///
    /// # Errors
    /// When its settings do not fit what is there.
    fn equip(&self, config: &mut AgentConfig) -> Result<(), AgentError> {
        Ok(())
    }

    /// Before a turn.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn before_agent(&self, moment: &mut Moment<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// After a turn.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn after_agent(&self, moment: &mut Moment<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Before a model call.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn before_model(&self, moment: &mut Moment<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// After a model call.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn after_model(&self, moment: &mut Moment<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Before tools are run.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn before_tools(&self, moment: &mut Moment<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// After tools were run.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn after_tools(&self, moment: &mut Moment<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }
}
