//! Waterline's pure centre: from any message history to a valid, explained context.
//!
//! ```
//! use waterline::message::Message;
//! use waterline::model::Models;
//! use waterline::plan::{Budget, Generation, Input, plan};
//! use waterline::policy::Policy;
//! use waterline::history::History;
//!
//! let model = Models::builtin().resolve("gpt-4o");
//! let mut history = History::new(model.counter());
//! history.append(Message::system("You are a careful engineer."));
//! history.append(Message::user("Why does the build fail?"));
//!
//! let policy = Policy::preset("auto")?;
//! let mut generation = Generation::new();
//! let budget = Budget::of(model.input_window());
//! let plan = plan(&Input::new(&history, &generation, &policy, budget, &model));
//! generation.freeze(&history, plan);
//! assert_eq!(generation.context(&history).count(), 2);
//! # Ok::<(), waterline::policy::PolicyError>(())
//! ```
//!
//! The way of a message is the way of the modules: [`message`] → [`history`] (atoms, tokens, values) → [`policy`] and
//! [`stage`] → [`plan`] → [`validity`]. This crate does no input or output, reads no clock and knows no vendor's JSON.

pub mod history;
pub mod json;
pub mod ledger;
pub mod message;
pub mod model;
pub mod plan;
pub mod policy;
pub mod reduce;
pub mod stage;
pub mod summary;
pub mod thought;
pub mod tokens;
pub mod validity;
pub mod warning;

pub use message::{Message, Part, Role, ToolCall, ToolResult};
pub use model::{Model, ModelEntry, Models};
