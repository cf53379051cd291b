//! What Waterline's tests share: conversations in a short notation, generators of conversations as
//! odd as real ones, and a model server that does what it is told, faults included. A
//! dev-dependency only.

pub mod dice;
mod effort;
pub mod generate;
pub mod model;
pub mod notation;
pub mod script;
pub mod scripted;
pub mod server;
pub mod spoken;
pub mod write;

use waterline::message::Wire;

pub use effort::effort;
pub use generate::{Event, conversation};
pub use notation::{messages, show};

/// The wires that the testkit can speak, which the shared suites run over.
pub const WIRES: [Wire; 4] =
    [Wire::OPENAI_CHAT, Wire::OPENAI_RESPONSES, Wire::ANTHROPIC, Wire::GEMINI];
