//! A context engine for LLM agents: turns any message history into a valid, explained context that
//! fits into the model's window.
//!
//! ```
//! use waterline::{Context, Message};
//!
//! let mut context = Context::builder().model("gpt-4o").policy("auto").build()?;
//! context.push(Message::system("You are a careful engineer."));
//! context.push(Message::user("Why does the build fail?"));
//!
//! let next = context.plan(); // slots, reasons, tokens, the wanted summary
//! let messages = next.commit(); // the messages to send
//! assert_eq!(messages.len(), 2);
//! # Ok::<(), waterline::PolicyError>(())
//! ```
//!
//! The modules follow the path of a message, and each uses only those before it: [`message`] →
//! [`tokens`], [`model`] → [`history`] (atoms, tokens, values) → [`summary`] → [`stage`] →
//! [`policy`] → [`plan`] → [`context`]. [`mod@phrase`], [`truncate`] and [`validity`] are helpers.
//! This crate does no I/O, reads no clock and contains no vendor's JSON.

pub mod context;
mod draft;
pub mod history;
// For the sibling crates, not for applications.
#[doc(hidden)]
pub mod json;
pub mod ledger;
pub mod message;
pub mod model;
pub mod phrase;
pub mod plan;
pub mod policy;
pub mod reason;
mod reduce;
mod setting;
pub mod stage;
pub mod summary;
mod thinking;
pub mod tokens;
mod tool;
pub mod truncate;
pub mod validity;
pub mod warning;
mod wire;

pub use context::{Context, ContextBuilder, Next};
pub use history::History;
pub use message::{Body, Image, Message, Part, Role, ToolCall, ToolResult, Truncated, Wire};
pub use model::{Model, ModelEntry, Models};
pub use phrase::Phrase;
pub use plan::{
    Action, Draft, Figures, FoldLevel, Generation, Plan, Slot, Treatment, Truncation, Wanted,
};
pub use policy::{Policy, PolicyError};
pub use stage::Stage;
pub use summary::Summary;
pub use tokens::{Calibration, Counter, Method};
pub use tool::Tool;
pub use warning::{Warning, WarningKind};
