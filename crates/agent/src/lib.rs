//! An agent's turn: model calls with tools between them, in a workspace of its own, with people in the loop.
//!
//! [`Agent::turn`] shows the whole way: submit → (call → tools)* → end. Each step is in the log before the next one begins, so
//! whatever ends the program, [`Agent::go_on`] goes on from there. This crate prints nothing and reads no environment.

mod agent;
pub mod approval;
mod builder;
mod callback;
mod config;
mod consent;
mod crew;
mod error;
mod event;
pub mod expiry;
mod interrupted;
mod lease;
mod limits;
pub mod mcp;
pub mod mention;
pub mod middleware;
mod model;
mod offline;
mod outcome;
mod person;
mod policy;
mod prompt;
mod repeats;
pub mod role;
mod run;
pub mod schema;
mod session_workspace;
pub mod skill;
mod start;
pub mod state;
mod submit;
pub mod tool;
mod tools;
mod turn;

pub use agent::Agent;
pub use builder::{AgentBuilder, Kept, Prepared};
pub use callback::Callback;
pub use config::{AgentConfig, FindModel};
pub use error::AgentError;
pub use event::Event;
pub use limits::Limits;
pub use offline::{NAME as OFFLINE, Offline};
pub use outcome::{Ending, Outcome};
pub use person::{Nobody, Person, Word};
pub use policy::{DEFAULT_POLICY, LoadPolicy, ModelPolicy, Policies, PolicyKeys};
pub use start::Start;
pub use state::{Local, Question, Request, State, Waiting};
pub use submit::Said;
