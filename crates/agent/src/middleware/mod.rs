//! Middlewares: six hooks into a turn, called in order of priority. One file per middleware.
//! Entries that only set a field of the configuration are in `config/setting.rs`.

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
use crate::reason::EndReason;
use crate::state::{ApprovalRequest, State};
use crate::tool::Toolbox;

/// An action that a hook can jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum To {
    /// Call the model.
    Model,
    /// Run the open calls.
    Tools,
    /// End the turn.
    End,
}

/// The verdict of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Continue.
    Ok,
    /// Continue, and store the state, which the hook changed.
    Update,
    /// Jump to another action.
    Goto(To),
    /// End the turn for this reason.
    Halt(EndReason),
    /// Ask the user for approval, then call the hook again.
    Interrupt(ApprovalRequest),
}

/// The result of a hook: a verdict, or why it failed.
pub type Hooked = Result<Verdict, String>;

/// A call that was run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finished {
    /// The call, with the arguments it ran with.
    pub call: ToolCall,
    /// The text of the result.
    pub text: String,
    /// Whether it failed.
    pub failed: bool,
}

/// The result of a call that is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyntheticResult {
    /// The text of the result.
    pub text: String,
    /// Whether the result is a failure.
    pub failed: bool,
}

impl SyntheticResult {
    /// Returns a failed result that says why the call is not run.
    pub fn refusal(why: impl Into<String>) -> Self {
        Self { text: why.into(), failed: true }
    }

    /// Returns a successful result.
    pub fn result(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: false }
    }
}

/// Counters of the running turn and session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Model calls in this turn.
    pub steps: usize,
    /// Model calls since the session was opened.
    pub iterations: usize,
    /// Tool calls in this turn.
    pub tool_calls: usize,
}

/// What a hook can read and change.
#[non_exhaustive]
pub struct HookContext<'a> {
    /// The agent state stored with the session.
    pub state: &'a mut State,
    /// Counters of the running turn and session.
    pub counters: Counters,
    /// The text of the user's input, before it is stored. Set in `before_agent`.
    pub input: &'a mut String,
    /// The texts attached to the input: files, notes. Set in `before_agent`.
    pub attached: &'a mut Vec<String>,
    /// Messages for the next model call only; they do not stay in the history. Used in
    /// `before_model`.
    pub ephemeral: &'a mut Vec<String>,
    /// The answer of the model. Set in `after_model`.
    pub answer: Option<&'a Answer>,
    /// The calls that are about to run. Set in `before_tools`.
    pub calls: &'a [ToolCall],
    /// Results for calls that are not run, by call id. Used in `before_tools`.
    pub synthetic: &'a mut BTreeMap<String, SyntheticResult>,
    /// The user's replies to approval requests, by call id.
    pub replies: &'a BTreeMap<String, ApprovalReply>,
    /// The calls that were run, before their results are stored. Set in `after_tools`.
    pub finished: &'a mut Vec<Finished>,
    /// The tools that the agent has.
    pub toolbox: &'a Toolbox,
}

/// Observes and changes turns through hooks. By default every hook continues.
#[expect(unused_variables, reason = "the parameter names are documentation")]
pub trait Middleware: Send + Sync {
    /// Returns the name, for events and errors.
    fn name(&self) -> &'static str;

    /// Returns the priority: lower values are called first.
    fn priority(&self) -> i32 {
        100
    }

    /// Called before a turn.
    ///
    /// # Errors
    /// Why the hook failed; the failure is reported and counted.
    fn before_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Called after a turn.
    ///
    /// # Errors
    /// Why the hook failed; the failure is reported and counted.
    fn after_agent(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Called before a model call.
    ///
    /// # Errors
    /// Why the hook failed; the failure is reported and counted.
    fn before_model(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Called after a model call.
    ///
    /// # Errors
    /// Why the hook failed; the failure is reported and counted.
    fn after_model(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Called before the calls of an answer are run.
    ///
    /// # Errors
    /// Why the hook failed; the failure is reported and counted.
    fn before_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }

    /// Called after a call was run.
    ///
    /// # Errors
    /// Why the hook failed; the failure is reported and counted.
    fn after_tools(&self, context: &mut HookContext<'_>) -> Hooked {
        Ok(Verdict::Ok)
    }
}
