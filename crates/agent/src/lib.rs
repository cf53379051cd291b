//! The agent: turns of model calls and tool calls in a directory, with people in the loop.
//!
//! [`Agent::turn`] runs one turn: submit → (call the model → run its calls)* → finish. Each step is
//! stored in the log before the next one starts, so [`Agent::resume`] can continue after any crash.
//! This crate prints nothing and reads no environment variables.

mod agent;
pub mod approval;
mod approver;
mod builder;
pub mod changes;
mod config;
mod describe;
pub mod environment;
mod error;
mod event;
pub mod expiry;
mod instructions;
mod lease;
mod limits;
mod loop_guard;
pub mod mcp;
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
pub mod schema;
mod session_files;
pub mod skill;
mod start;
pub mod state;
pub mod tool;

pub use agent::{Agent, HandoffRunner, UserInput};
pub use approver::{ApprovalReply, Approver, Unattended};
pub use builder::{AgentBuilder, Prepared, StartNotice};
pub use config::{AgentConfig, FindModel, PRESETS, WorkingDirectory, preset};
pub use error::AgentError;
pub use event::{Event, FailureKind, WholeOutput};
pub use instructions::{InstructionFiles, Instructions};
pub use limits::Limits;
pub use notice::Notice;
pub use observer::{Frontend, Observer, Source};
pub use offline::{NAME as OFFLINE, Offline};
pub use outcome::{Ending, Outcome};
pub use policy::{DEFAULT_POLICY, LoadPolicy, ModelPolicy, Policies, PolicyKeys};
pub use reason::{ApprovalReason, EndReason, Risk, RiskCause};
pub use run_line::{AnswerLine, EventLine, RunLine, StopName};
pub use session_files::{MovingFiles, SessionFiles};
pub use start::Start;
pub use state::{ApprovalRequest, Local, Question, State, Waiting};
