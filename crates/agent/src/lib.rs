//! The agent: turns of model calls and tool calls in a directory, with people in the loop.
//!
//! [`Agent::turn`] runs one turn: submit → (call the model → run its calls)* → finish. Each step is
//! stored in the log before the next one starts, so [`Agent::resume`] can continue after any crash.
//! This crate prints nothing and reads no environment variables.
//!
//! Most applications need what is at the root, and [`tool`] for tools of their own, [`middleware`]
//! for hooks, [`mcp`] for servers and [`role`] for hand-offs. Hidden modules are for the sibling
//! crates.

mod agent;
#[doc(hidden)]
pub mod approval;
mod approver;
mod builder;
mod cause;
#[doc(hidden)]
pub mod changes;
mod config;
mod describe;
#[doc(hidden)]
pub mod environment;
mod error;
mod event;
#[doc(hidden)]
pub mod expiry;
mod ignored;
mod instructions;
mod lease;
mod limits;
mod loop_guard;
pub mod mcp;
#[doc(hidden)]
pub mod mention;
pub mod middleware;
mod notice;
mod observer;
mod offline;
mod outcome;
mod policy;
mod reason;
pub mod role;
mod run_line;
#[doc(hidden)]
pub mod schema;
mod session_files;
#[doc(hidden)]
pub mod skill;
mod start;
#[doc(hidden)]
pub mod state;
pub mod tool;

pub use agent::{Agent, HandoffRunner, UserInput};
pub use approval::{Approval, Mode as ApprovalMode, Rule as ApprovalRule, Ruling};
pub use approver::{ApprovalReply, Approver, Unattended};
pub use builder::{AgentBuilder, Prepared, StartNotice};
pub use cause::Cause;
pub use changes::{DiffKind, FileDiff};
pub use config::{AgentConfig, FindModel, PRESETS, WorkingDirectory, preset};
pub use error::AgentError;
pub use event::{Event, FailureKind, WholeOutput};
pub use expiry::Cleanup;
pub use instructions::{InstructionFiles, Instructions};
pub use limits::Limits;
pub use notice::Notice;
pub use observer::{Frontend, Observer, Source};
pub use offline::{Hints, NAME as OFFLINE, Offline};
pub use outcome::{Ending, Outcome};
pub use policy::{Choice, DEFAULT_POLICY, LoadPolicy, ModelPolicy, Policies, PolicyKeys};
pub use reason::{ApprovalReason, EndReason, Risk, RiskCause};
pub use run_line::{AnswerLine, EventLine, RunLine, StopName};
pub use session_files::{MovingFiles, SessionFiles};
pub use skill::{Skill, SkillProblem};
pub use start::Start;
pub use state::{ApprovalRequest, Local, Question, State, Todo, Upload, UsedModel, Waiting};
pub use waterline_log::Log;
pub use waterline_provider::{Endpoint, Model};
