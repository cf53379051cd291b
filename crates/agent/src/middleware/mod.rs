//! Middleware: six hooks into a turn, called in the order of their priorities. One file each. What
//! only sets a field of the configuration is a setting (`config/setting.rs`).

mod call_limit;
mod chain;
mod pii;
mod todo_list;
mod tool_emulator;

use std::collections::BTreeMap;

use waterline::message::ToolCall;
use waterline_provider::answer::Answer;

pub(crate) use call_limit::CallLimit;
pub(crate) use chain::{Chain, Hook};
pub(crate) use pii::Pii;
pub(crate) use todo_list::TodoList;
pub(crate) use tool_emulator::ToolEmulator;

use crate::approver::ApprovalReply;
use crate::state::{ApprovalRequest, State};
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
    Interrupt(ApprovalRequest),
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
pub struct SyntheticResult {
    /// In words.
    pub text: String,
    /// Whether that is a failure.
    pub failed: bool,
}

impl SyntheticResult {
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
pub struct Counters {
    /// Model calls in this turn.
    pub steps: usize,
    /// Model calls since the session was opened.
    pub iterations: usize,
    /// Tool calls in this turn.
    pub tool_calls: usize,
}

/// The turn as a hook sees it.
pub struct HookContext<'a> {
    /// What the session carries.
    pub state: &'a mut State,
    /// How much was done.
    pub counters: Counters,
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
    pub instead: &'a mut BTreeMap<String, SyntheticResult>,
    /// What a person said to a call.
    pub replies: &'a BTreeMap<String, ApprovalReply>,
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

    /// Before a turn.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn before_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// After a turn.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn after_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Before a model call.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// After a model call.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn after_model(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Before tools are run.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn before_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// After tools were run.
    ///
    /// # Errors
    /// Why it failed; it is shown and counted.
    fn after_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }
}
