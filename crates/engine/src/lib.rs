//! Waterline's pure centre: from any message history to a valid, explained context.
//!
//! ```
//! use waterline::{Context, Message};
//!
//! let mut context = Context::builder().model("gpt-4o").policy("auto").build()?;
//! context.push(Message::system("You are a careful engineer."));
//! context.push(Message::user("Why does the build fail?"));
//!
//! let next = context.plan(); // slots, reasons, tokens, the summary it wants
//! let messages = next.commit(); // what to send
//! assert_eq!(messages.len(), 2);
//! # Ok::<(), waterline::PolicyError>(())
//! ```
//!
//! The way of a message is the order of the modules, and each uses only those before it:
//! [`message`] → [`tokens`], [`model`] → [`history`] (atoms, tokens, values) → [`summary`] →
//! [`stage`] → [`policy`] → [`plan`] → [`context`]. Beside them stand [`truncate`] and
//! [`validity`]. This crate does no input or output, reads no clock and knows no vendor's JSON.

pub mod context;
mod draft;
pub mod history;
// Used by the sibling crates; not meant for applications.
#[doc(hidden)]
pub mod json;
pub mod ledger;
pub mod message;
pub mod model;
pub mod plan;
pub mod policy;
mod reduce;
mod setting;
pub mod stage;
pub mod summary;
mod thought;
pub mod tokens;
pub mod truncate;
pub mod validity;
pub mod warning;
mod wire;

pub use context::{Context, ContextBuilder, Next};
pub use message::{Message, Part, Role, ToolCall, ToolResult, Truncated};
pub use model::{Model, ModelEntry, Models};
pub use plan::{Action, Figures, FoldLevel, Slot, Treatment, Truncation, Wanted};
pub use policy::{Policy, PolicyError};
pub use stage::Stage;
pub use summary::Summary;
pub use tokens::{Calibration, Counter, Method};
pub use warning::{Oddity, Warning};
