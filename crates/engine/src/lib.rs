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
//! Most applications need only what is at the root. The public modules have the rest, for custom
//! stages, custom storage and exact control: the path of a message is [`message`] → [`tokens`],
//! [`model`] → [`history`] (atoms, tokens, values) → [`summary`] → [`stage`] → [`policy`] →
//! [`plan`] → [`Context`], and each uses only those before it. Hidden modules are for the sibling
//! crates. This crate does no I/O, reads no clock and contains no vendor's JSON.

mod context;
mod draft;
pub mod history;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod ledger;
pub mod message;
pub mod model;
#[doc(hidden)]
pub mod phrase;
pub mod plan;
pub mod policy;
#[doc(hidden)]
pub mod reason;
mod reduce;
mod setting;
pub mod stage;
pub mod summary;
mod thinking;
pub mod tokens;
mod tool;
#[doc(hidden)]
pub mod truncate;
#[doc(hidden)]
pub mod validity;
#[doc(hidden)]
pub mod warning;
mod wire;

pub use context::{Choice, Context, ContextBuilder, Next};
pub use history::History;
pub use message::{Body, Image, Message, Part, Role, ToolCall, ToolResult, Truncated, Wire};
pub use model::{Model, ModelEntry, Models};
pub use phrase::{Phrase, Value as PhraseValue};
pub use plan::{
    Action, Draft, Figures, FoldLevel, Generation, Passage, Plan, Slot, SummaryRequest, Treatment,
    Truncation,
};
pub use policy::{Policy, PolicyError};
pub use reason::{Reason, Reasons};
pub use stage::Stage;
pub use summary::Summary;
pub use tokens::{Calibration, Counter, Method};
pub use tool::Tool;
pub use validity::Violation;
pub use warning::{Warning, WarningKind};
